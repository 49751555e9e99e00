// The one logical clock and the one order of all changes: takes compare-and-swap writes, makes them durable in groups, and only
// then shows them to readers and watchers. Invariant: no reader has ever seen a change that is lost later.
import { type Clock } from '#lib/clock.ts'
import { systemClock } from '#lib/system-clock.ts'
import { isKubeNodeError } from '#lib/errors.ts'
import { Collection } from './collection.ts'
import { type Change, type StorageBackend } from './port.ts'
import { DISK_FULL } from './storage-error.ts'
import { Stored, type ChangeType, type StoreEvent } from './stored.ts'
import type { KubeObject } from '#api/schema/object.ts'

/** Changes in one transaction: enough for full speed, small enough that none waits long behind the others. */
const MAX_BATCH = 1_000
/** Data written at once is folded into the file at once: more would block the next writer for more than 20 ms. */
const MAX_BATCH_BYTES = 1024 * 1024
/** Heartbeats of thousands of nodes: one more costs nothing beside another write, and as much as any write alone. */
const HEARTBEATS = 'coordination.k8s.io/leases'
/** How long a heartbeat waits for other writes. Its writer waits seconds until the next. */
const COMPANY_MS = 5
/** Enough heartbeats to write without waiting further. */
const COMPANY = 32
/** Number of deletions that fit at once on a full disk. */
const FULL_BATCH = 16
/** A deletion mark or a heartbeat: an object that grows by at most this counts as the same size. */
const SLACK_BYTES = 1_024

export interface Place {
  readonly resource: string
  readonly namespace: string
  readonly name: string
}

/** A pending write: the value for readers, and its bytes with the new revision inside. */
export interface Encoded {
  readonly value: KubeObject
  readonly bytes: Buffer
}

export type WriteOutcome = { readonly done: Stored } | { readonly stale: Stored | undefined }

interface InFlight {
  readonly revision: number
  /** Undefined: a deletion. */
  readonly object: Stored | undefined
  readonly written: Promise<WriteOutcome>
}

interface Pending {
  readonly change: Change
  readonly event: StoreEvent
  readonly inFlight: InFlight
  readonly resolve: (o: WriteOutcome) => void
  readonly reject: (e: unknown) => void
}

export class Store {
  readonly #backend: StorageBackend
  readonly #clock: Pick<Clock, 'monotonic'>
  readonly #collections = new Map<string, Collection>()
  /** The last pending write of each object: the next one builds on it. */
  readonly #inFlight = new Map<string, InFlight>()
  #queue: Pending[] = []
  #committing: Promise<void> | undefined
  /** Ends the wait of heartbeats for other writes. */
  #accompany: (() => void) | undefined
  #failure: unknown
  #mostAtOnce = MAX_BATCH
  readonly #isFailed: (e: unknown) => void
  /** Resolves when nothing can be stored any longer: answers from then on cannot be trusted. */
  readonly failed: Promise<unknown>
  /** Changes before it are not remembered. */
  readonly #started: number
  #issued: number
  #committed: number
  readonly #onCommit = new Set<() => void>()
  readonly #onChange = new Set<(event: StoreEvent) => void>()

  constructor(backend: StorageBackend, clock: Pick<Clock, 'monotonic'> = systemClock) {
    this.#backend = backend
    this.#clock = clock
    const { promise, resolve } = Promise.withResolvers<unknown>()
    this.failed = promise
    this.#isFailed = resolve
    void backend.failed?.then((e) => this.#fail(e))
    const { revision, objects } = backend.load()
    this.#started = revision
    this.#issued = revision
    this.#committed = revision
    for (const o of objects) this.collection(o.resource).load(new Stored(o, o.revision, o.bytes))
  }

  /** The revision of the last committed change. */
  get revision(): number {
    return this.#committed
  }

  collection(resource: string): Collection {
    let c = this.#collections.get(resource)
    if (c === undefined) {
      // it has not changed since the start, or it would be here
      c = new Collection(resource, this.#started)
      this.#collections.set(resource, c)
    }
    return c
  }

  resources(): readonly string[] {
    return [...this.#collections.keys()]
  }

  get(at: Place): Stored | undefined {
    return this.#collections.get(at.resource)?.get(at.namespace, at.name)
  }

  /** The newest version, also when it is not durable yet: only for building the next write upon it. */
  latest(at: Place): Stored | undefined {
    const key = pathOf(at)
    const last = this.#inFlight.get(key)
    return last === undefined ? this.get(at) : last.object
  }

  /** Resolves when the version that `latest` returned is durable; rejects when it never will be. Answers based on it must wait for that. */
  async settled(at: Place): Promise<void> {
    await this.#inFlight.get(pathOf(at))?.written
  }

  /** Stores when the newest version is `expected` (undefined: when there is none). */
  put(at: Place, expected: Stored | undefined, encode: (revision: number) => Encoded): Promise<WriteOutcome> {
    const seen = this.latest(at)
    if (seen !== expected) return Promise.resolve({ stale: seen })
    const revision = ++this.#issued
    const { value, bytes } = encode(revision)
    const object = new Stored(at, revision, bytes, value)
    return this.#enqueue(seen === undefined ? 'ADDED' : 'MODIFIED', object, seen, bytes)
  }

  /** Removes when the newest version is `expected`; `encode` gives the last content as watchers see it. */
  delete(at: Place, expected: Stored, encode: (revision: number) => Encoded): Promise<WriteOutcome> {
    const seen = this.latest(at)
    if (seen !== expected) return Promise.resolve({ stale: seen })
    const revision = ++this.#issued
    const { value, bytes } = encode(revision)
    return this.#enqueue('DELETED', new Stored(at, revision, bytes, value), seen, undefined)
  }

  /** Called for each committed change of any resource. */
  onChange(listener: (event: StoreEvent) => void): () => void {
    this.#onChange.add(listener)
    return () => void this.#onChange.delete(listener)
  }

  /** Called after each group of commits. */
  onCommit(listener: () => void): () => void {
    this.#onCommit.add(listener)
    return () => void this.#onCommit.delete(listener)
  }

  async close(): Promise<void> {
    while (this.#committing !== undefined) await this.#committing
    await this.#backend.close()
  }

  #enqueue(
    type: ChangeType,
    object: Stored,
    previous: Stored | undefined,
    bytes: Buffer | undefined,
  ): Promise<WriteOutcome> {
    if (this.#failure !== undefined) return Promise.reject(this.#failure)
    const { resource, namespace, name, revision } = object
    const { promise: written, resolve, reject } = Promise.withResolvers<WriteOutcome>()
    const inFlight = { revision, object: type === 'DELETED' ? undefined : object, written }
    this.#inFlight.set(pathOf(object), inFlight)
    const takesNoRoom =
      bytes === undefined || (previous !== undefined && bytes.length <= previous.bytes.length + SLACK_BYTES)
    const pending: Pending = {
      change: { resource, namespace, name, revision, bytes, takesNoRoom },
      inFlight,
      event: { type, revision, object, previous, at: this.#clock.monotonic(), lines: new Map() },
      resolve,
      reject,
    }
    this.#queue.push(pending)
    if (!isHeartbeat(pending) || this.#queue.length >= COMPANY) this.#accompany?.()
    this.#committing ??= this.#commitAll()
    return written
  }

  /** Heartbeats alone wait for the next write of any other kind, or for enough other heartbeats. */
  async #company(): Promise<void> {
    if (this.#queue.length >= COMPANY || !this.#queue.every(isHeartbeat)) return
    const { promise, resolve } = Promise.withResolvers<void>()
    const timer = setTimeout(resolve, COMPANY_MS)
    this.#accompany = resolve
    await promise
    this.#accompany = undefined
    clearTimeout(timer)
  }

  async #commitAll(): Promise<void> {
    // one turn of the event loop gathers what arrived together
    await new Promise((resolve) => setImmediate(resolve))
    while (this.#queue.length > 0 && this.#failure === undefined) {
      await this.#company()
      if (this.#failure !== undefined) break
      const size = batchSize(this.#queue, this.#mostAtOnce)
      const batch = size === this.#queue.length ? this.#queue : this.#queue.slice(0, size)
      this.#queue = size === this.#queue.length ? [] : this.#queue.slice(size)
      try {
        await this.#backend.commit(batch.map((p) => p.change))
      } catch (e) {
        if (!this.#triedWithoutGrowth(batch, e)) this.#refuse(batch, e)
        continue
      }
      if (batch.some(takesRoom)) this.#mostAtOnce = MAX_BATCH
      for (const p of batch) this.#publish(p)
      for (const listener of this.#onCommit) listener()
    }
    this.#committing = undefined
  }

  /** On a full disk writes that take no space are retried, unless they build on a refused one. */
  #triedWithoutGrowth(batch: readonly Pending[], e: unknown): boolean {
    if (!(isKubeNodeError(e) && e.code === DISK_FULL)) return false
    if (batch.length <= FULL_BATCH && !batch.some(takesRoom)) return false
    const kept = new Map<string, Stored | undefined>()
    const queue = [...batch, ...this.#queue].filter((p) => {
      const path = pathOf(p.event.object)
      const before = kept.has(path) ? kept.get(path) : this.get(p.event.object)
      const stays = !takesRoom(p) && before === p.event.previous
      if (stays) kept.set(path, p.inFlight.object)
      else p.reject(e)
      return stays
    })
    this.#mostAtOnce = FULL_BATCH
    this.#queue = queue
    this.#inFlight.clear()
    for (const p of queue) this.#inFlight.set(pathOf(p.event.object), p.inFlight)
    return true
  }

  /** Queued writes that build on a refused one fail with it. Their revisions are not reused. */
  #refuse(batch: readonly Pending[], e: unknown): void {
    const refused = [...batch, ...this.#queue]
    this.#queue = []
    this.#inFlight.clear()
    for (const p of refused) p.reject(e)
    if (!(isKubeNodeError(e) && e.retry === 'later')) this.#fail(e)
  }

  #fail(e: unknown): void {
    if (this.#failure !== undefined) return
    this.#failure = e
    this.#refuse([], e)
    this.#isFailed(e)
  }

  #publish({ event, resolve }: Pending): void {
    const key = pathOf(event.object)
    // a later write to the same object may be pending already: its mark stays
    if (this.#inFlight.get(key)?.revision === event.revision) this.#inFlight.delete(key)
    this.#committed = event.revision
    this.collection(event.object.resource).apply(event)
    // all watchers have their line now; the window keeps the object alone
    event.lines.clear()
    for (const listener of this.#onChange) listener(event)
    resolve({ done: event.object })
  }
}

/** Runs a function that may depend on another client's pending write, and answers only when that write is durable: a refused client may read. */
export async function onceDurable<T extends { readonly stored: Stored }>(
  store: Store,
  at: Place,
  work: () => Promise<T | undefined>,
): Promise<T | undefined> {
  try {
    const answer = await work()
    if (answer === undefined || answer.stored.revision > store.revision) await store.settled(at)
    return answer
  } catch (e) {
    await store.settled(at)
    throw e
  }
}

const isHeartbeat = ({ event: { type, object } }: Pending): boolean =>
  type === 'MODIFIED' && object.resource === HEARTBEATS

const takesRoom = ({ change }: Pending): boolean => change.takesNoRoom !== true

/** How many from the front go into one transaction; one at least. */
function batchSize(queue: readonly Pending[], most: number): number {
  let bytes = 0
  for (const [i, { change }] of queue.entries()) {
    bytes += change.bytes?.length ?? 0
    if (i > 0 && (i === most || bytes > MAX_BATCH_BYTES)) return i
  }
  return queue.length
}

const pathOf = (at: Place): string => `${at.resource}/${at.namespace}/${at.name}`
