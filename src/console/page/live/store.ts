// The page's knowledge of the server: the session, the connection, and the views' topics, kept up to date by the stream.
import { applied } from '../../delta.ts'
import type { ChangesAnswer, PastAnswer, Refusal, Session, Snapshot, Topic } from '../../protocol.ts'
import { BASE } from './base.ts'
import type { Connection, FeedMessage } from './feed.ts'
import { ownHeaders } from './page-secret.ts'
import { isKnown } from './revision.ts'
import { learnTime } from './server-time.ts'
import { Tabs } from './tabs.ts'

/** The state of requested data. */
export type Loaded<T> =
  | { readonly state: 'Loading' }
  | { readonly state: 'Ready'; readonly value: T }
  | { readonly state: 'Refused'; readonly message: string }
  | { readonly state: 'Missing'; readonly message: string }
  | { readonly state: 'Failed'; readonly message: string }

const LOADING: Loaded<never> = { state: 'Loading' }
/** Retry interval of a failed view while it is shown. */
const AGAIN_MS = 3_000
/** A missing object may appear, such as a recreated cluster. */
const MISSING_AGAIN_MS = 15_000
/** Over a dead connection a browser would wait for many minutes. */
const ANSWER_MS = 30_000

interface Kept {
  loaded: Loaded<Snapshot>
  readonly listeners: Set<() => void>
  timer?: ReturnType<typeof setTimeout>
}

export async function ask<T>(url: string, init?: RequestInit): Promise<Loaded<T>> {
  try {
    const response = await fetch(BASE + url, {
      ...init,
      headers: { accept: 'application/json', ...ownHeaders(), ...init?.headers },
    })
    learnTime(response)
    const body: unknown = await response.json().catch(() => ({}))
    if (response.ok) return { state: 'Ready', value: body as T }
    const { message } = body as Partial<Refusal>
    const why = message ?? `the server answers ${response.status}`
    if (response.status === 401 || response.status === 403) return { state: 'Refused', message: why }
    return { state: response.status === 404 ? 'Missing' : 'Failed', message: why }
  } catch {
    return { state: 'Failed', message: 'the server does not answer' }
  }
}

export const post = <T>(url: string, body: unknown): Promise<Loaded<T>> =>
  ask(url, { method: 'POST', headers: { 'content-type': 'application/json' }, body: JSON.stringify(body) })

export const askPast = (topic: Topic, at: number): Promise<Loaded<PastAnswer>> =>
  ask(`/api/past?${new URLSearchParams({ topic, at: String(at) })}`)

export const askChanges = (topic: Topic, from: number, to: number): Promise<Loaded<ChangesAnswer>> =>
  ask(`/api/past?${new URLSearchParams({ topic, from: String(from), to: String(to) })}`)

export class Store {
  session: Loaded<Session> = LOADING
  connection: Connection = { state: 'Connecting' }
  readonly #topics = new Map<Topic, Kept>()
  readonly #listeners = new Set<() => void>()
  readonly #tabs = new Tabs(
    (message) => this.#take(message),
    () => (this.session.state === 'Ready' ? this.session.value.digest : undefined),
  )

  async start(): Promise<void> {
    const session = await ask<Session>('/api/session', { signal: AbortSignal.timeout(ANSWER_MS) })
    // The other tabs are signed in together with this one.
    if (session.state === 'Ready' && this.session.state === 'Refused') this.#tabs.resume()
    // Keep showing the session while the server is unavailable.
    if (session.state !== 'Failed' || this.session.state !== 'Ready') this.session = session
    if (session.state === 'Failed') setTimeout(() => void this.start(), AGAIN_MS)
    this.#tell()
  }

  /** A user returned to this tab. */
  resume(): void {
    if (this.connection.state === 'Paused' || this.connection.state === 'SignedOut') this.#tabs.resume()
  }

  /** Called for changes of the session and the connection. */
  onChange(listener: () => void): () => void {
    this.#listeners.add(listener)
    return () => this.#listeners.delete(listener)
  }

  topic(topic: Topic): Loaded<Snapshot> {
    return this.#topics.get(topic)?.loaded ?? LOADING
  }

  /** Keeps the topic up to date until the returned function is called. */
  follow(topic: Topic, listener: () => void): () => void {
    let kept = this.#topics.get(topic)
    if (kept === undefined) {
      kept = { loaded: LOADING, listeners: new Set() }
      this.#topics.set(topic, kept)
      void this.#read(topic)
    }
    kept.listeners.add(listener)
    return () => {
      kept.listeners.delete(listener)
      // A view that changes its topics ends them all before it follows the new ones: one that is in both stays, or its rows would disappear under the focus.
      queueMicrotask(() => {
        if (kept.listeners.size > 0 || this.#topics.get(topic) !== kept) return
        clearTimeout(kept.timer)
        this.#topics.delete(topic)
        this.#want()
      })
    }
  }

  async #read(topic: Topic): Promise<void> {
    const kept = this.#topics.get(topic)
    if (kept === undefined) return
    const loaded = await ask<Snapshot>(`/api/topic/${topic}`, { signal: AbortSignal.timeout(ANSWER_MS) })
    if (this.#topics.get(topic) !== kept) return
    const wasReady = kept.loaded.state === 'Ready'
    clearTimeout(kept.timer)
    // Keep showing a view that cannot be read again: the strip shows its age.
    if (loaded.state !== 'Failed' || kept.loaded.state !== 'Ready') kept.loaded = loaded
    if (loaded.state === 'Failed') kept.timer = setTimeout(() => void this.#read(topic), AGAIN_MS)
    if (loaded.state === 'Missing') kept.timer = setTimeout(() => void this.#read(topic), MISSING_AGAIN_MS)
    if (loaded.state === 'Ready' || (loaded.state !== 'Failed' && wasReady)) this.#want()
    for (const listener of kept.listeners) listener()
  }

  #want(): void {
    const wanted: Record<Topic, string> = {}
    for (const [topic, { loaded }] of this.#topics) {
      if (loaded.state === 'Ready') wanted[topic] = loaded.value.revision
    }
    this.#tabs.want(wanted)
  }

  #take(message: FeedMessage): void {
    if (message.is === 'connection') {
      const before = this.connection
      this.connection = message.connection
      if (before.state === 'SignedOut' && message.connection.state === 'Live') this.#readAgain()
      if (JSON.stringify(before) !== JSON.stringify(message.connection)) this.#tell()
    } else if (message.is === 'session') this.#readAgain()
    else if (message.is === 'resync') {
      for (const topic of message.event.topics) if (this.#topics.has(topic)) void this.#read(topic)
    } else {
      const { revision, at, deltas } = message.event
      for (const delta of deltas) {
        const kept = this.#topics.get(delta.topic)
        if (kept?.loaded.state !== 'Ready' || isKnown(kept.loaded.value.revision, revision)) continue
        kept.loaded = { state: 'Ready', value: applied(kept.loaded.value, delta, revision, at) }
        for (const listener of kept.listeners) listener()
      }
    }
  }

  /** Possibly as another user, or for other clusters. The stream lists the topics that were read before. */
  #readAgain(): void {
    void this.start()
    for (const [topic, { loaded }] of this.#topics) if (loaded.state !== 'Ready') void this.#read(topic)
  }

  #tell(): void {
    for (const listener of this.#listeners) listener()
  }
}
