// The commands of a rendered control plane, run with real programs: they serve, keep the behavior of the minor before, and step over the edge under a writer.
import { request } from 'node:https'
import { expect, test } from 'vitest'
import { coreKind } from '#kube/core-kinds.ts'
import type { KubeClient } from '#kube/client.ts'
import { freePort } from '#test/support/servers/free-port.ts'
import { untilUp } from '#test/support/servers/real/place.ts'
import { whyNoPrograms } from '#test/support/servers/real/programs.ts'
import { until } from '#test/support/tools/processes.ts'
import { clientOf, formsOf, HOST, isReady } from '#test/support/worlds/plane-clients.ts'
import { PlanePrograms } from '#test/support/worlds/plane-programs.ts'

const WITHIN_MS = 300_000
const CHAPTER_MS = 900_000
const MANAGERS = ['controller-manager', 'scheduler'] as const
const configMaps = coreKind('ConfigMap')

/** Without any credentials. */
const anonymous = (plane: PlanePrograms, port: number, path: string): Promise<number> =>
  new Promise((resolve, reject) => {
    const asked = request({ host: HOST, port, path, ca: plane.ca }, (answer) => {
      answer.resume()
      resolve(answer.statusCode ?? 0)
    })
    asked.once('error', reject)
    asked.end()
  })

test(
  'a control plane serves as the minor before, steps over the edge under a writer, and no write is lost',
  async (context) => {
    const why = whyNoPrograms()
    if (why !== undefined) context.skip(`the programs of a control plane: ${why}`)
    const ports = [await freePort(), await freePort()] as const
    const plane = await PlanePrograms.create(ports[0])
    const as = formsOf(plane)
    const clients = [clientOf(plane, ports[0]), clientOf(plane, ports[1])] as const
    const [first, second] = clients
    try {
      plane.start(as(35), 'etcd')
      plane.start(as(35), 'apiserver', { name: 'first', port: ports[0] })
      await untilUp(plane.programs, 'first', WITHIN_MS, () => isReady(first))
      for (const part of MANAGERS) plane.start(as(35), part, { port: await freePort() })

      const version = async (client: KubeClient) =>
        JSON.parse((await client.raw({ method: 'GET', path: '/version' })).text) as Record<string, string>
      expect(await version(first)).toMatchObject({ minor: '36', emulationMinor: '35' })
      expect([await anonymous(plane, ports[0], '/livez'), await anonymous(plane, ports[0], '/api')]).toEqual([200, 401])
      // Made by the controller manager.
      await until(
        'the account of the namespace',
        async () => await first.get(coreKind('ServiceAccount'), { namespace: 'default', name: 'default' }),
        WITHIN_MS,
      )
      // A Secret is not readable in the store.
      await first.create(coreKind('Secret'), {
        apiVersion: 'v1',
        kind: 'Secret',
        metadata: { name: 's', namespace: 'default' },
        data: { a: Buffer.from('hidden-from-the-disk').toString('base64') },
      })

      const writer = new Writer(clients)
      const writing = writer.run()
      // The edge: a server with the new behavior beside one with the old, then it alone, then the first comes back with the new one.
      plane.start(as(36), 'apiserver', { name: 'second', port: ports[1] })
      await untilUp(plane.programs, 'second', WITHIN_MS, () => isReady(second))
      writer.serves(1)
      expect(await version(second)).toMatchObject({ minor: '36', emulationMinor: '36' })
      await until('writes while both serve', () => Promise.resolve(writer.written[1] >= 20 || undefined), WITHIN_MS)
      // Here they know one server; in pods they ask the Service, and outlive it.
      for (const part of MANAGERS) await plane.programs.end(part, 60_000)
      await writer.drains(0, () => plane.programs.end('first', 120_000))
      plane.start(as(36), 'apiserver', { name: 'third', port: ports[0] })
      await untilUp(plane.programs, 'third', WITHIN_MS, () => isReady(first))
      writer.serves(0)
      for (const part of MANAGERS) plane.start(as(36), part, { port: await freePort() })
      writer.stop()
      await writing

      expect(writer.lost).toEqual([])
      const { items } = await first.list(configMaps, { namespace: 'default', labelSelector: 'writer=1' })
      expect(items.length).toBe(writer.names.length)
      process.stderr.write(`a writer over the edge: ${writer.names.length} writes, ${writer.retried} retried once\n`)
      plane.programs.check()
    } finally {
      for (const client of clients) client.close()
      await plane.stop()
    }
  },
  CHAPTER_MS,
)

/** Fifty writes a second to whichever server is said to serve, as a Service would hand them out. Each is tried twice at most. */
class Writer {
  readonly names: string[] = []
  readonly lost: string[] = []
  readonly written: [number, number] = [0, 0]
  retried = 0
  readonly #clients: readonly KubeClient[]
  readonly #serving = new Set<number>([0])
  #isOver = false

  constructor(clients: readonly KubeClient[]) {
    this.#clients = clients
  }

  serves(n: number): void {
    this.#serving.add(n)
  }

  /** Endpoints learn it while the server still answers. */
  async drains(n: number, end: () => Promise<void>): Promise<void> {
    const ended = end()
    await new Promise((later) => setTimeout(later, 1_000))
    this.#serving.delete(n)
    await ended
  }

  stop(): void {
    this.#isOver = true
  }

  async run(): Promise<void> {
    const running = new Set<Promise<void>>()
    for (let n = 0; !this.#isOver; n++) {
      const one = this.#write(`w-${n}`).finally(() => running.delete(one))
      running.add(one)
      await new Promise((later) => setTimeout(later, 20))
    }
    await Promise.all(running)
  }

  async #write(name: string): Promise<void> {
    for (const attempt of [0, 1]) {
      const serving = [...this.#serving]
      const n = serving[(this.names.length + attempt) % serving.length] ?? 0
      try {
        await this.#clients[n]?.apply(
          configMaps,
          {
            apiVersion: 'v1',
            kind: 'ConfigMap',
            metadata: { name, namespace: 'default', labels: { writer: '1' } },
            data: { name },
          },
          { fieldManager: 'writer', force: true },
        )
        this.names.push(name)
        if (n === 0 || n === 1) this.written[n]++
        this.retried += attempt
        return
      } catch (error) {
        if (attempt === 1) this.lost.push(`${name}: ${String(error)}`)
      }
    }
  }
}
