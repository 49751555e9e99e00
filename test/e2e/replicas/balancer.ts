// What a Service does with TCP connections: each new one goes to the next endpoint that is ready, and an open one stays where it is.
import { request } from 'node:http'
import net, { type AddressInfo, type Socket } from 'node:net'

export interface Backend {
  readonly port: number
  readonly healthPort: number
}

/** As often as a kubelet that probes each second, with the way of the news through the API server. */
const PROBE_MS = 500

export class Balancer {
  readonly #server = net.createServer((client) => this.#connect(client))
  readonly #sockets = new Set<Socket>()
  readonly #backends = new Set<Backend>()
  #ready: readonly Backend[] = []
  #turn = 0
  #timer: NodeJS.Timeout | undefined

  async start(address: string): Promise<number> {
    await new Promise<void>((resolve) => this.#server.listen(0, address, resolve))
    this.#timer = setInterval(() => void this.#probe(), PROBE_MS)
    return (this.#server.address() as AddressInfo).port
  }

  add(backend: Backend): void {
    this.#backends.add(backend)
  }

  get ready(): readonly Backend[] {
    return this.#ready
  }

  async stop(): Promise<void> {
    clearInterval(this.#timer)
    for (const socket of this.#sockets) socket.destroy()
    await new Promise<void>((resolve) => this.#server.close(() => resolve()))
  }

  async #probe(): Promise<void> {
    const all = [...this.#backends]
    const answers = await Promise.all(all.map(isReady))
    this.#ready = all.filter((_, i) => answers[i])
  }

  #connect(client: Socket): void {
    const backend = this.#ready[this.#turn++ % Math.max(1, this.#ready.length)]
    if (backend === undefined) return void client.destroy()
    const server = net.connect(backend.port, '127.0.0.1')
    const pair = [client, server] as const
    for (const socket of pair) {
      this.#sockets.add(socket)
      socket.on('error', () => pair.forEach((s) => s.destroy()))
      socket.on('close', () => {
        this.#sockets.delete(socket)
        for (const s of pair) s.destroy()
      })
    }
    client.pipe(server).pipe(client)
  }
}

const isReady = ({ healthPort }: Backend): Promise<boolean> =>
  new Promise((resolve) => {
    const asked = request({ host: '127.0.0.1', port: healthPort, path: '/readyz', timeout: 1_000 }, (answer) => {
      answer.resume()
      resolve(answer.statusCode === 200)
    })
    asked.on('timeout', () => asked.destroy())
    asked.on('error', () => resolve(false))
    asked.end()
  })
