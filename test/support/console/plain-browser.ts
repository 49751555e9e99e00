// Browsers of a kind, without a page: they keep a cookie, and read snapshots and the stream of a console.
import { request as httpRequest, type IncomingMessage } from 'node:http'
import type { DeltaEvent, ResyncEvent, Session, Snapshot } from '#console/protocol.ts'

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
  #page: string | undefined

  constructor(port: number) {
    this.#port = port
  }

  /** Opens a one-time link. */
  async open(link: string): Promise<Reply> {
    const reply = await this.ask(new URL(link).pathname)
    this.#cookie = reply.headers['set-cookie']?.[0]?.split(';')[0] ?? this.#cookie
    this.#page = /#page=(.*)$/.exec(reply.headers.location ?? '')?.[1] ?? this.#page
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
  stream(topics: readonly string[], since?: string, onEvent?: (event: StreamEvent) => void): EventStream {
    const query = new URLSearchParams({ topics: topics.join(','), ...(since !== undefined && { since }) })
    return new EventStream(this.#port, `/events?${query.toString()}`, this.#headers({}, false), onEvent)
  }

  #headers(own: Readonly<Record<string, string>>, hasBody: boolean): Readonly<Record<string, string>> {
    return {
      ...(this.#cookie !== undefined && { cookie: this.#cookie }),
      ...(this.#page !== undefined && { 'x-kubenode-page': this.#page }),
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
  readonly #onEvent: (event: StreamEvent) => void
  #rest = ''

  constructor(
    port: number,
    path: string,
    headers: Readonly<Record<string, string>>,
    onEvent: (event: StreamEvent) => void = () => undefined,
  ) {
    this.#onEvent = onEvent
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
      if (event === undefined) continue
      const taken = { event, id: fields.get('id') ?? '', data: fields.get('data') ?? '' }
      this.events.push(taken)
      this.#onEvent(taken)
    }
  }
}
