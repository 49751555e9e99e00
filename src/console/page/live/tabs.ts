// One stream for all of a browser's tabs: the tab with the lock reads it and forwards everything to the others. Browsers allow six connections per host;
// without this, the seventh tab would wait forever.
import type { Revision, Topic } from '../../protocol.ts'
import { BASE } from './base.ts'
import { Feed } from './feed.ts'
import type { Connection, FeedMessage } from './feed.ts'
import { lowest } from './revision.ts'

/** A tab's topics, each with the revision of its snapshot. */
export type Wanted = Readonly<Record<Topic, Revision>>

type Note =
  | { readonly is: 'want'; readonly tab: string; readonly wanted: Wanted }
  | { readonly is: 'leader' }
  | { readonly is: 'resume' }
  | { readonly is: 'feed'; readonly message: FeedMessage }

// A host may have a console below each of several paths.
const LEADER = `kubenode-stream${BASE}`
const TAB = `kubenode-tab${BASE}-`

export class Tabs {
  readonly #id = crypto.randomUUID()
  readonly #channel = new BroadcastChannel(`kubenode${BASE}`)
  readonly #take: (message: FeedMessage) => void
  readonly #sessionOf: () => string | undefined
  /** What each tab wants; only the leader keeps it. */
  readonly #wanted = new Map<string, Wanted>()
  #own: Wanted = {}
  #feed: Feed | undefined
  #connection: Connection = { state: 'Connecting' }

  constructor(take: (message: FeedMessage) => void, sessionOf: () => string | undefined) {
    this.#take = take
    this.#sessionOf = sessionOf
    this.#channel.addEventListener('message', ({ data }: MessageEvent<Note>) => this.#note(data))
    // Without a secure context there are no locks; then each tab has its own stream.
    const locks = (navigator as { locks?: LockManager }).locks
    if (locks === undefined) {
      this.#lead()
      return
    }
    // Both are held until the tab closes, even by a crash.
    void locks.request(TAB + this.#id, () => new Promise<never>(() => {}))
    void locks.request(LEADER, () => {
      this.#lead()
      return new Promise<never>(() => {})
    })
  }

  want(wanted: Wanted): void {
    this.#own = wanted
    if (this.#feed === undefined) this.#post({ is: 'want', tab: this.#id, wanted })
    else this.#learn(this.#id, wanted)
  }

  /** A user returned to this tab: reopen a paused stream. */
  resume(): void {
    if (this.#feed === undefined) this.#post({ is: 'resume' })
    else this.#feed.resume()
  }

  #lead(): void {
    this.#feed = new Feed((message) => this.#pass(message), this.#sessionOf)
    this.#post({ is: 'leader' })
    this.#learn(this.#id, this.#own)
  }

  #pass(message: FeedMessage): void {
    if (message.is === 'connection') this.#connection = message.connection
    this.#post({ is: 'feed', message })
    this.#take(message)
  }

  #note(note: Note): void {
    if (note.is === 'feed') this.#take(note.message)
    else if (note.is === 'leader') this.#post({ is: 'want', tab: this.#id, wanted: this.#own })
    else if (note.is === 'resume') this.#feed?.resume()
    else if (this.#feed !== undefined) {
      this.#learn(note.tab, note.wanted)
      this.#post({ is: 'feed', message: { is: 'connection', connection: this.#connection } })
    }
  }

  #learn(tab: string, wanted: Wanted): void {
    // A user opened another page of this browser.
    const isNew = !this.#wanted.has(tab)
    this.#wanted.set(tab, wanted)
    void this.#follow().then(() => isNew && this.#feed?.resume())
  }

  /** The union of all open tabs' topics. */
  async #follow(): Promise<void> {
    const held = (await (navigator as { locks?: LockManager }).locks?.query())?.held ?? []
    const open = new Set(held.map(({ name }) => name))
    for (const tab of this.#wanted.keys()) {
      if (tab !== this.#id && !open.has(TAB + tab)) this.#wanted.delete(tab)
    }
    const all = [...this.#wanted.values()]
    const topics = [...new Set(all.flatMap((w) => Object.keys(w)))].toSorted()
    this.#feed?.follow(topics, lowest(all.flatMap((w) => Object.values(w))))
  }

  #post(note: Note): void {
    // oxlint-disable-next-line unicorn/require-post-message-target-origin -- a BroadcastChannel reaches its own origin only
    this.#channel.postMessage(note)
  }
}
