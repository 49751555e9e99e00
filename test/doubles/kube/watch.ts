// One watch of the fake: which commits it shows, in which form, and what the fault hooks make of them on the way.
import type { KubeObject } from '#api/schema/object.ts'
import type { WatchEvent, WatchOptions } from '#kube/client.ts'
import type { Core } from './core.ts'
import type { EventFault, FaultPort, WatchInfo } from './faults.ts'
import { kindKey } from './kinds.ts'
import { refuse, type Refusal } from './object-rules.ts'
import { matcherOf, revisionOf, type Matcher } from './reads.ts'
import type { Commit } from './revisions.ts'
import { defined } from '#lib/defined.ts'

export type WatchItem =
  | { readonly kind: 'event'; readonly event: WatchEvent }
  | { readonly kind: 'end' }
  | { readonly kind: 'lost' }
  | { readonly kind: 'error'; readonly refusal: Refusal }

/** A reader this far behind is disconnected and must reconnect, as on a real server. */
const MAX_WAITING = 100_000

export class FakeWatch {
  readonly info: WatchInfo
  readonly #core: Core
  /** Called each time: a test may break an open stream. */
  readonly #faults: () => FaultPort
  readonly #kind: string
  readonly #matches: Matcher
  #inbox: Commit[] = []
  readonly #outbox: WatchItem[] = []
  #seen: number
  #swapped: WatchEvent | undefined
  #delayed = false
  #ended = false
  #wake: (() => void) | undefined
  #forget: () => void = () => undefined

  constructor(core: Core, faults: () => FaultPort, info: WatchInfo, options: WatchOptions) {
    this.#core = core
    this.#faults = faults
    this.info = info
    this.#kind = kindKey(info.type)
    this.#matches = matcherOf(core.kind(info.type), options)
    this.#seen = this.#start(options)
    const off = core.onCommit((c) => {
      if (c.kind === this.#kind) this.#inbox.push(c)
      this.flush()
    })
    const timer =
      options.timeoutSeconds === undefined
        ? undefined
        : core.clock.after(options.timeoutSeconds * 1_000, () => this.end({ kind: 'end' }))
    this.#forget = () => {
      off()
      timer?.cancel()
    }
    if (this.#ended) this.#forget()
    else this.flush()
  }

  /** Where the stream starts; fills in the past or the present as the options ask. */
  #start(options: WatchOptions): number {
    const { resourceVersion, sendInitialEvents } = options
    const newest = Math.min(this.#horizon(), this.#core.revisions.current)
    if (resourceVersion === undefined || resourceVersion === '' || resourceVersion === '0' || sendInitialEvents) {
      if (sendInitialEvents !== false) this.#sendState(newest, sendInitialEvents === true)
      this.#inbox = [...this.#core.revisions.since(this.#kind, newest)]
      return newest
    }
    const from = revisionOf(resourceVersion)
    const floor = this.#core.revisions.floor(this.#kind)
    if (from < floor) throw refuse(410, `too old resource version: ${from} (${floor})`)
    this.#inbox = [...this.#core.revisions.since(this.#kind, from)]
    return from
  }

  #sendState(revision: number, withEnd: boolean): void {
    const state = this.#core.revisions.stateAt(this.#kind, revision)
    for (const key of [...state.keys()].sort()) {
      const object = state.get(key)
      if (object !== undefined && this.#matches(object)) this.#pass({ type: 'ADDED', object })
    }
    if (withEnd) this.#pass({ type: 'BOOKMARK', resourceVersion: String(revision), initialEventsEnd: true })
  }

  #horizon(): number {
    return this.#faults().horizon?.(this.info.actor) ?? Number.MAX_SAFE_INTEGER
  }

  /** Hands on what the horizon and a delay allow. */
  flush(): void {
    const horizon = this.#horizon()
    let done = 0
    for (const commit of this.#inbox) {
      if (this.#delayed || this.#ended || commit.revision > horizon) break
      done++
      this.#seen = commit.revision
      const event = this.#eventOf(commit)
      if (event !== undefined) this.#pass(event)
    }
    if (done > 0) this.#inbox = this.#inbox.slice(done)
    if (this.#outbox.length > MAX_WAITING) this.end({ kind: 'end' })
  }

  /** A watch with selectors sees an object that leaves the selection as deleted, and one that enters it as added. */
  #eventOf({ type, object, previous }: Commit): WatchEvent | undefined {
    const was = previous !== undefined && this.#matches(previous)
    const is = type !== 'DELETED' && this.#matches(object)
    if (is) return { type: was ? 'MODIFIED' : 'ADDED', object }
    if (!was) return undefined
    return { type: 'DELETED', object: type === 'DELETED' ? object : withRevisionOf(previous, object) }
  }

  bookmark(): void {
    if (this.#ended || this.#delayed || this.#inbox.length > 0) return
    const newest = Math.min(this.#horizon(), this.#core.revisions.current)
    this.#pass({ type: 'BOOKMARK', resourceVersion: String(Math.max(this.#seen, newest)), initialEventsEnd: false })
  }

  #pass(event: WatchEvent): void {
    const fault = this.#faults().event?.(this.info, event)
    if (fault?.kind === 'swap' && this.#swapped === undefined) {
      this.#swapped = event
      return
    }
    this.#give(event, fault)
    if (this.#swapped === undefined) return
    const late = this.#swapped
    this.#swapped = undefined
    this.#put({ kind: 'event', event: late })
  }

  #give(event: WatchEvent, fault: EventFault | undefined): void {
    const item: WatchItem = { kind: 'event', event }
    switch (fault?.kind) {
      case 'drop':
        return
      case 'duplicate':
        this.#put(item)
        this.#put(item)
        return
      case 'delay':
        this.#delay(item, fault.ms)
        return
      case 'close':
      case 'lose':
        if (fault.when === 'after') this.#put(item)
        this.end({ kind: fault.kind === 'close' ? 'end' : 'lost' })
        return
      case 'error':
        this.end({ kind: 'error', refusal: refuse(fault.code, `injected ${fault.code}`) })
        return
      case 'swap':
      case undefined:
        this.#put(item)
    }
  }

  #delay(item: WatchItem, ms: number): void {
    this.#delayed = true
    this.#core.clock.after(ms, () => {
      this.#delayed = false
      this.#put(item)
      this.flush()
    })
  }

  #put(item: WatchItem): void {
    if (this.#ended) return
    this.#outbox.push(item)
    this.#wake?.()
  }

  end(item: WatchItem): void {
    if (this.#ended) return
    this.#put(item)
    this.#ended = true
    this.#forget()
  }

  /** The reader went away. */
  close(): void {
    this.#ended = true
    this.#outbox.length = 0
    this.#forget()
    this.#wake?.()
  }

  /** The next item, as soon as there is one; undefined when the reader itself closed the watch. */
  async next(): Promise<WatchItem | undefined> {
    for (;;) {
      const item = this.#outbox.shift()
      if (item !== undefined) return item
      if (this.#ended) return undefined
      await new Promise<void>((resolve) => {
        this.#wake = resolve
      })
      this.#wake = undefined
    }
  }
}

const withRevisionOf = (object: KubeObject, at: KubeObject): KubeObject => ({
  ...object,
  metadata: {
    ...object.metadata,
    ...defined({ resourceVersion: at.metadata.resourceVersion }),
  },
})
