// The browser's single stream: opens it, reopens it after a failure or silence, and forwards its events.
import { defined } from '#lib/defined.ts'
import type { ByeEvent, DeltaEvent, Refusal, ResyncEvent, Revision, Topic } from '../../protocol.ts'
import { BASE } from './base.ts'
import { ownHeaders } from './page-secret.ts'
import { learnTime, serverNow } from './server-time.ts'
import { eventReader } from './sse.ts'
import type { StreamEvent } from './sse.ts'

export type FeedMessage =
  | { readonly is: 'delta'; readonly event: DeltaEvent }
  | { readonly is: 'resync'; readonly event: ResyncEvent }
  | { readonly is: 'session' }
  | { readonly is: 'connection'; readonly connection: Connection }

/** Whether the page is up to date. */
export type Connection =
  | { readonly state: 'Connecting' }
  | { readonly state: 'Live' }
  | { readonly state: 'Offline'; readonly since: number; readonly message: string }
  /** The server answers but has no room for this page yet. */
  | { readonly state: 'Full'; readonly message: string }
  /** Another page took this one's place, until a user opens this one again. */
  | { readonly state: 'Paused'; readonly message: string }
  | { readonly state: 'SignedOut' }

/** The server sends a comment every 15 seconds; after three missed ones the connection is dead. */
const SILENCE_MS = 45_000
/** A laptop after sleep may send a request over a silently dead connection. */
const ANSWER_MS = 20_000
const FIRST_RETRY_MS = 500
const LAST_RETRY_MS = 10_000
/** How often the tabs reread their topics before a stream the server does not know counts as an outage. */
const MOST_REREADS = 3
/** Changing the view changes the topics several times within a frame. */
const GATHER_MS = 30

export class Feed {
  #topics: readonly Topic[] = []
  #since: Revision | undefined
  #abort: AbortController | undefined
  #retryMs = FIRST_RETRY_MS
  #offlineSince: number | undefined
  #timer: ReturnType<typeof setTimeout> | undefined
  #isPaused = false
  /** Another page took the place; only a user takes it back, not a topic that arrives late. */
  #hasGivenUp = false
  #isAskedAgain = false
  #rereads = 0
  readonly #send: (message: FeedMessage) => void
  readonly #sessionOf: () => string | undefined

  /** `sessionOf`: the digest of the shown session. */
  constructor(send: (message: FeedMessage) => void, sessionOf: () => string | undefined) {
    this.#send = send
    this.#sessionOf = sessionOf
  }

  /** `since`: the lowest revision of the new snapshots, if older than what this stream has read. */
  follow(topics: readonly Topic[], since: Revision | undefined): void {
    this.#topics = topics
    this.#since = since
    if (!this.#hasGivenUp) this.#openIn(GATHER_MS)
  }

  /** A user returned to a page of this browser, or signed in on one. */
  resume(): void {
    if (this.#isPaused) this.#openIn(0)
  }

  #openIn(ms: number): void {
    clearTimeout(this.#timer)
    this.#timer = setTimeout(() => void this.#open(), ms)
  }

  async #open(): Promise<void> {
    this.#abort?.abort()
    if (this.#topics.length === 0) return
    const abort = new AbortController()
    this.#abort = abort
    this.#isPaused = false
    this.#hasGivenUp = false
    this.#isAskedAgain = false
    const session = this.#sessionOf()
    const query = new URLSearchParams({
      topics: this.#topics.join(','),
      ...(this.#since && { since: this.#since }),
      ...defined({ session }),
    })
    const late = setTimeout(() => abort.abort(SILENT), ANSWER_MS)
    try {
      const response = await fetch(`${BASE}/events?${query}`, {
        headers: { accept: 'text/event-stream', ...ownHeaders() },
        signal: abort.signal,
      })
      clearTimeout(late)
      learnTime(response)
      // 421: a different console process now has this port and its own name. This page does not belong to it.
      if (response.status === 401 || response.status === 421) {
        this.#isPaused = true
        this.#send({ is: 'connection', connection: { state: 'SignedOut' } })
        return
      }
      if (response.status === 503) {
        // A proxy in front of an unavailable server answers this way too.
        const { code, message = '' } = (await response.json().catch(() => ({}))) as Partial<Refusal>
        if (code === 'TooManyStreams') return this.#again({ state: 'Full', message })
      }
      // A topic ended with its cluster or with the right to read it. The tabs that show it find out and drop it.
      if (response.status === 404 && this.#rereads++ < MOST_REREADS) {
        this.#send({ is: 'resync', event: { revision: this.#since ?? '', topics: this.#topics } })
        this.#send({ is: 'session' })
        return this.#openLater()
      }
      if (!response.ok || response.body === null) throw new Error(`the server answers ${response.status}`)
      this.#retryMs = FIRST_RETRY_MS
      this.#rereads = 0
      this.#offlineSince = undefined
      this.#send({ is: 'connection', connection: { state: 'Live' } })
      await this.#read(response.body, abort)
      if (this.#isPaused) return
      if (this.#isAskedAgain) return this.#openIn(0)
      if (!abort.signal.aborted) throw new Error('the server closed the stream')
    } catch (e) {
      if (abort.signal.aborted && abort.signal.reason !== SILENT) return
      this.#offlineSince ??= serverNow()
      const message = e instanceof Error ? e.message : String(e)
      this.#again({ state: 'Offline', since: this.#offlineSince, message })
    } finally {
      clearTimeout(late)
    }
  }

  #again(connection: Connection): void {
    this.#send({ is: 'connection', connection })
    this.#openLater()
  }

  #openLater(): void {
    this.#openIn(this.#retryMs * (0.5 + Math.random()))
    this.#retryMs = Math.min(LAST_RETRY_MS, this.#retryMs * 2)
  }

  async #read(body: ReadableStream<Uint8Array>, abort: AbortController): Promise<void> {
    const read = eventReader()
    const decoder = new TextDecoder()
    let watch = setTimeout(() => abort.abort(SILENT), SILENCE_MS)
    const reader = body.getReader()
    try {
      for (;;) {
        const { done, value } = await reader.read()
        if (done) return
        clearTimeout(watch)
        watch = setTimeout(() => abort.abort(SILENT), SILENCE_MS)
        for (const event of read(decoder.decode(value, { stream: true }))) this.#take(event)
      }
    } finally {
      clearTimeout(watch)
    }
  }

  #take({ name, id, data }: StreamEvent): void {
    if (id !== undefined) this.#since = id
    if (name === 'delta') this.#send({ is: 'delta', event: JSON.parse(data) as DeltaEvent })
    else if (name === 'resync') this.#send({ is: 'resync', event: JSON.parse(data) as ResyncEvent })
    else if (name === 'session') this.#send({ is: 'session' })
    else if (name === 'bye') this.#bye(JSON.parse(data) as ByeEvent)
  }

  /** Pages that took each other's place in turn would never stop, so this one waits for a user. For other reasons the next attempt finds out why. */
  #bye({ reason, message = '' }: ByeEvent): void {
    this.#isAskedAgain = reason === 'AskAgain'
    if (reason !== 'TooManyStreams') return
    this.#isPaused = true
    this.#hasGivenUp = true
    clearTimeout(this.#timer)
    this.#send({ is: 'connection', connection: { state: 'Paused', message } })
  }
}

const SILENT = 'silent'
