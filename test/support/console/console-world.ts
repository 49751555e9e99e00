// A console over an embedded API server, and browsers of a kind: they keep a cookie, and read snapshots and the stream.
import { request as httpRequest, type IncomingMessage } from 'node:http'
import type { AddressInfo } from 'node:net'
import { createServer } from 'node:net'
import { startConsole, type RunningConsole } from '#console/server/console.ts'
import type { Page } from '#console/server/page-files.ts'
import type { DeltaEvent, ResyncEvent, Session, Snapshot } from '#console/protocol.ts'
import type { KubeClient } from '#kube/client.ts'
import { HttpKubeClient } from '#kube/http/client.ts'
import { systemClock } from '#lib/clock.ts'
import { silentLogger } from '#lib/log.ts'
import { seededRandom } from '#lib/random.ts'
import { type RunningServer, startEmbedded } from '#test/support/servers/api-servers.ts'
import { installAll } from '#test/support/servers/installed.ts'

const FILE = { type: 'text/html; charset=utf-8', body: Buffer.from('<!doctype html>'), gzip: Buffer.from('') }

/** The page has tests of its own. */
const NO_PAGE: Page = {
  digest: '0123456789abcdef',
  html: FILE,
  files: new Map([['page/main.ts', { ...FILE, type: 'text/javascript' }]]),
  policy: "default-src 'none'",
}

export interface ConsoleWorld {
  readonly server: RunningServer
  readonly admin: KubeClient
  /** A client of the server as another user. */
  readonly clientAs: (user: string, groups?: readonly string[]) => HttpKubeClient
  /** A console for this user; ends with the world. */
  readonly console: (clients: ReadonlyMap<string, KubeClient>, port?: number, page?: Page) => Promise<RunningConsole>
  readonly stop: () => Promise<void>
}

export async function consoleWorld(): Promise<ConsoleWorld> {
  const server = await startEmbedded()
  const own = {
    server: server.url,
    ca: { data: server.ca },
    clientCertificate: { cert: { data: server.cert }, key: { data: server.key } },
  }
  const clients: HttpKubeClient[] = []
  const clientOf = (config: ConstructorParameters<typeof HttpKubeClient>[0]): HttpKubeClient => {
    const client = new HttpKubeClient(config)
    clients.push(client)
    return client
  }
  const admin = clientOf(own)
  await installAll(admin)
  const consoles: RunningConsole[] = []
  return {
    server,
    admin,
    clientAs: (user, groups = []) => clientOf({ ...own, impersonate: { user, groups } }),
    console: async (of, port = 0, page = NO_PAGE) => {
      const running = await startConsole({
        clients: of,
        page,
        version: '0.0.0',
        host: '127.0.0.1',
        port,
        names: [],
        clock: systemClock,
        random: seededRandom(1),
        log: silentLogger,
      })
      consoles.push(running)
      return running
    },
    stop: async () => {
      await Promise.all(consoles.map((c) => c.stop()))
      for (const client of clients) client.close()
      await server.stop()
    },
  }
}

export async function freePort(): Promise<number> {
  const probe = createServer()
  await new Promise<void>((resolve) => probe.listen(0, '127.0.0.1', resolve))
  const { port } = probe.address() as AddressInfo
  await new Promise((resolve) => probe.close(resolve))
  return port
}

export interface Reply {
  readonly status: number
  readonly headers: IncomingMessage['headers']
  readonly text: string
}

export interface AskOptions {
  readonly method?: string
  readonly headers?: Readonly<Record<string, string>>
  readonly body?: unknown
}

/** One browser profile: whatever cookie it was given is sent again. */
export class Browser {
  readonly #port: number
  #cookie: string | undefined

  constructor(port: number) {
    this.#port = port
  }

  /** Opens a one-time link. */
  async open(link: string): Promise<Reply> {
    const reply = await this.ask(new URL(link).pathname)
    this.#cookie = reply.headers['set-cookie']?.[0]?.split(';')[0] ?? this.#cookie
    return reply
  }

  ask(path: string, { method = 'GET', headers = {}, body }: AskOptions = {}): Promise<Reply> {
    return new Promise((resolve, reject) => {
      const sent = httpRequest(
        { host: '127.0.0.1', port: this.#port, path, method, headers: this.#headers(headers, body !== undefined) },
        (response) => {
          const chunks: Buffer[] = []
          response.on('data', (chunk: Buffer) => chunks.push(chunk))
          response.on('end', () =>
            resolve({
              status: response.statusCode ?? 0,
              headers: response.headers,
              text: Buffer.concat(chunks).toString(),
            }),
          )
          response.on('error', reject)
        },
      )
      sent.on('error', reject)
      sent.end(body === undefined ? undefined : JSON.stringify(body))
    })
  }

  async json<T>(path: string, options: AskOptions = {}): Promise<T> {
    const { status, text } = await this.ask(path, options)
    if (status !== 200) throw new Error(`${path} answers ${status}: ${text}`)
    return JSON.parse(text) as T
  }

  session = (): Promise<Session> => this.json<Session>('/api/session')
  topic = <T extends Snapshot = Snapshot>(topic: string): Promise<T> => this.json<T>(`/api/topic/${topic}`)

  /** Follows topics until `close`. */
  stream(topics: readonly string[], since?: string): EventStream {
    const query = new URLSearchParams({ topics: topics.join(','), ...(since !== undefined && { since }) })
    return new EventStream(this.#port, `/events?${query.toString()}`, this.#headers({}, false))
  }

  #headers(own: Readonly<Record<string, string>>, hasBody: boolean): Readonly<Record<string, string>> {
    return {
      ...(this.#cookie !== undefined && { cookie: this.#cookie }),
      ...(hasBody && { 'content-type': 'application/json' }),
      ...own,
    }
  }
}

export interface StreamEvent {
  readonly event: string
  readonly id: string
  readonly data: string
}

export class EventStream {
  readonly events: StreamEvent[] = []
  status: number | undefined
  isEnded = false
  readonly #request: ReturnType<typeof httpRequest>
  #response: IncomingMessage | undefined
  #rest = ''

  constructor(port: number, path: string, headers: Readonly<Record<string, string>>) {
    this.#request = httpRequest({ host: '127.0.0.1', port, path, headers, agent: false }, (response) => {
      this.status = response.statusCode
      this.#response = response
      response.setEncoding('utf8')
      response.on('data', (chunk: string) => this.#take(chunk))
      response.on('close', () => (this.isEnded = true))
      response.on('error', () => (this.isEnded = true))
    })
    this.#request.on('error', () => (this.isEnded = true))
    this.#request.end()
  }

  get deltas(): readonly DeltaEvent[] {
    return this.events.filter((e) => e.event === 'delta').map((e) => JSON.parse(e.data) as DeltaEvent)
  }

  get resyncs(): readonly ResyncEvent[] {
    return this.events.filter((e) => e.event === 'resync').map((e) => JSON.parse(e.data) as ResyncEvent)
  }

  get lastId(): string | undefined {
    return this.events.findLast((e) => e.id !== '')?.id
  }

  /** Stops reading, as a browser does that sleeps. */
  pause(): void {
    this.#response?.pause()
  }

  close(): void {
    this.#request.destroy()
  }

  #take(chunk: string): void {
    const blocks = `${this.#rest}${chunk}`.split('\n\n')
    this.#rest = blocks.pop() ?? ''
    for (const block of blocks) {
      const fields = new Map(
        block.split('\n').map((line) => [line.slice(0, line.indexOf(':')), line.slice(line.indexOf(':') + 2)]),
      )
      const event = fields.get('event')
      if (event !== undefined) this.events.push({ event, id: fields.get('id') ?? '', data: fields.get('data') ?? '' })
    }
  }
}
