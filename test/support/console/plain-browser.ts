// Browsers of a kind, without a page: they keep a cookie, and read snapshots and the stream of a console. They take no message that differs from its type.
import { request as httpRequest, type IncomingMessage } from 'node:http'
import { request as httpsRequest, type RequestOptions } from 'node:https'
import type { DeltaEvent, ResyncEvent, Session, Snapshot } from '#console/protocol.ts'
import { answerProblems, eventProblems } from './messages.ts'
import { defined } from '#lib/defined.ts'

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

export interface BrowserTls extends Pick<RequestOptions, 'ca' | 'cert' | 'key'> {
  /** The name of the server. */
  readonly host: string
}

interface Habits {
  /** Takes every message as it is: what a check costs would be in the figures of a bench. */
  readonly isCareless?: boolean
}

/** One browser profile: whatever cookie it was given is sent again. */
export class Browser {
  readonly #port: number
  readonly #tls: BrowserTls | undefined
  readonly #isCareless: boolean
  readonly #jar = new Map<string, string>()
  #page: string | undefined

  constructor(port: number, tls?: BrowserTls, { isCareless = false }: Habits = {}) {
    this.#port = port
    this.#tls = tls
    this.#isCareless = isCareless
  }

  get cookies(): string {
    return [...this.#jar].map(([name, value]) => `${name}=${value}`).join('; ')
  }

  /** Opens a one-time link. */
  async open(link: string): Promise<Reply> {
    const reply = await this.ask(new URL(link).pathname)
    this.#page = /#page=(.*)$/.exec(reply.headers.location ?? '')?.[1] ?? this.#page
    return reply
  }

  ask(path: string, { method = 'GET', headers = {}, body }: AskOptions = {}): Promise<Reply> {
    return new Promise((resolve, reject) => {
      const own = { host: '127.0.0.1', port: this.#port, path, method, ...this.#over() }
      const sent = (this.#tls === undefined ? httpRequest : httpsRequest)(
        { ...own, headers: this.#headers(headers, body !== undefined) },
        (response) => {
          this.#keep(response.headers['set-cookie'] ?? [])
          const chunks: Buffer[] = []
          response.on('data', (chunk: Buffer) => chunks.push(chunk))
          response.on('end', () => {
            const { statusCode: status = 0, headers: got } = response
            const text = Buffer.concat(chunks).toString()
            if (status === 200 && !this.#isCareless && got['content-type']?.startsWith('application/json') === true)
              try {
                refuse(path, answerProblems(path, JSON.parse(text)))
              } catch (e) {
                return reject(e)
              }
            return resolve({ status, headers: got, text })
          })
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
  stream(
    topics: readonly string[],
    since?: string,
    onEvent: (event: StreamEvent) => void = () => undefined,
    session?: string,
  ): EventStream {
    const query = new URLSearchParams({
      topics: topics.join(','),
      ...defined({ since, session }),
    })
    return new EventStream(
      { port: this.#port, path: `/events?${query.toString()}`, headers: this.#headers({}, false), ...this.#over() },
      (event) => {
        if (!this.#isCareless) refuse(`the event ${event.event}`, eventProblems(event.event, event.data))
        onEvent(event)
      },
    )
  }

  #over(): RequestOptions {
    if (this.#tls === undefined) return {}
    const { host, ...files } = this.#tls
    return { ...files, servername: host, agent: false }
  }

  #keep(cookies: readonly string[]): void {
    for (const cookie of cookies) {
      const [, name = '', value = ''] = /^([^=]+)=([^;]*)/.exec(cookie) ?? []
      if (/; Max-Age=0/.test(cookie)) this.#jar.delete(name)
      else this.#jar.set(name, value)
    }
  }

  #headers(own: Readonly<Record<string, string>>, hasBody: boolean): Readonly<Record<string, string>> {
    return {
      ...(this.#tls !== undefined && { host: `${this.#tls.host}:${this.#port}` }),
      ...(this.#jar.size > 0 && { cookie: this.cookies }),
      ...defined({ 'x-kubenode-page': this.#page }),
      ...(hasBody && { 'content-type': 'application/json' }),
      ...own,
    }
  }
}

function refuse(what: string, problems: readonly string[]): void {
  if (problems.length > 0) throw new Error(`${what} differs from its type:\n${problems.join('\n')}`)
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
  readonly #onEvent: (event: StreamEvent) => void
  #rest = ''

  constructor(to: RequestOptions, onEvent: (event: StreamEvent) => void = () => undefined) {
    this.#onEvent = onEvent
    const ask = to.servername === undefined ? httpRequest : httpsRequest
    this.#request = ask({ host: '127.0.0.1', agent: false, ...to }, (response) => {
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
      if (event === undefined) continue
      const taken = { event, id: fields.get('id') ?? '', data: fields.get('data') ?? '' }
      this.events.push(taken)
      this.#onEvent(taken)
    }
  }
}
