// A cached view of one kind: a store that is kept up to date, handlers that get every object's latest state, and a flag for completeness.
import type { Clock } from '#lib/clock.ts'
import type { Random } from '#lib/random.ts'
import type { KubeObject } from '#api/schema/object.ts'
import type { ResourceType } from '#api/schema/resource.ts'
import { namespacedName } from '#api/schema/object-meta.ts'
import type { KubeClient } from './client.ts'
import { Delivery, type Handler, type HandlerOptions } from './delivery.ts'
import type { KeptShare } from './kept-bound.ts'
import { Reflector, type ReflectorNotice, type Selection } from './reflector.ts'
import type { Change } from './replica.ts'
import { Store, type Indexer, type Objects, type ReadonlyStore } from './store.ts'

export type InformerNotice = ReflectorNotice | { readonly kind: 'HandlerFailed'; readonly error: unknown }

export interface InformerOptions<T extends KubeObject> {
  readonly client: KubeClient
  readonly type: ResourceType<T>
  readonly clock: Clock
  readonly random: Random
  readonly selection?: Selection
  readonly indexers?: Readonly<Record<string, Indexer<T>>>
  readonly transform?: (object: T) => T
  /** Bounds what is kept of a server whose administrators are others. */
  readonly kept?: KeptShare
  /** Where objects are kept: a Map, unless there are millions to store compactly. */
  readonly objects?: Objects<T>
  readonly notice?: (notice: InformerNotice) => void
  readonly bookmarkPeriodMs?: number
  readonly relistEveryMs?: number
  readonly startSpreadMs?: number
}

export interface Informer<T extends KubeObject = KubeObject> {
  readonly type: ResourceType<T>
  readonly store: ReadonlyStore<T>
  /** Reports all cached objects as new first. Returns a function that removes the handler. */
  addHandler(handler: Handler<T>, options?: HandlerOptions): () => void
  /** An index may be added at any time; the first one of a name stays. */
  addIndex(name: string, indexer: Indexer<T>): void
  /** Puts the result of this process's write into the store and notifies handlers, before the watch delivers it. False if that is not possible. */
  assume(written: T): boolean
  /** Runs until the signal aborts; never rejects. */
  run(signal: AbortSignal): Promise<void>
  /** True once the whole first list is in the store and every handler got it. */
  readonly isSynced: boolean
  synced(signal?: AbortSignal): Promise<void>
  /** Time since the server last answered; for watchdogs, and for code that must not act on stale data. */
  silentForMs(): number
  readonly isWatching: boolean
  /** Everything up to this revision is in the store: a later write is still pending. */
  readonly resourceVersion: string | undefined
}

export function createInformer<T extends KubeObject>(options: InformerOptions<T>): Informer<T> {
  return new CachedView(options)
}

class CachedView<T extends KubeObject> implements Informer<T> {
  readonly type: ResourceType<T>
  readonly store: Store<T>
  readonly #reflector: Reflector<T>
  readonly #deliveries = new Set<Delivery<T>>()
  readonly #notice: (notice: InformerNotice) => void
  readonly #waiters = new Set<() => void>()
  readonly #selection: Selection
  readonly #undelivered: (readonly Change<T>[])[] = []
  #isDelivering = false
  #listed = false
  #synced = false

  constructor({ indexers, objects, notice = () => undefined, ...options }: InformerOptions<T>) {
    this.type = options.type
    this.store = new Store(indexers, (error) => notice({ kind: 'HandlerFailed', error }), objects)
    this.#notice = notice
    this.#selection = options.selection ?? {}
    this.#reflector = new Reflector({
      ...options,
      store: this.store,
      notice,
      onChanges: (changes) => this.#deliver(changes),
      onListed: () => {
        if (this.#listed) return
        this.#listed = true
        void this.#finishSync()
      },
    })
  }

  addHandler(handler: Handler<T>, options: HandlerOptions = {}): () => void {
    const delivery = new Delivery(handler, options, (error) => this.#notice({ kind: 'HandlerFailed', error }))
    for (const object of this.store.list()) delivery.push({ key: namespacedName(object), old: undefined, now: object })
    this.#deliveries.add(delivery)
    return () => this.#deliveries.delete(delivery)
  }

  addIndex(name: string, indexer: Indexer<T>): void {
    this.store.addIndex(name, indexer)
  }

  assume(written: T): boolean {
    return this.#isSelected(written) && this.#reflector.assume(written)
  }

  run(signal: AbortSignal): Promise<void> {
    return this.#reflector.run(signal)
  }

  get isSynced(): boolean {
    return this.#synced
  }

  synced(signal?: AbortSignal): Promise<void> {
    if (this.#synced) return Promise.resolve()
    return new Promise((resolve, reject) => {
      const onAbort = () => {
        this.#waiters.delete(done)
        reject(signal?.reason)
      }
      const done = () => {
        signal?.removeEventListener('abort', onAbort)
        resolve()
      }
      if (signal?.aborted) return onAbort()
      signal?.addEventListener('abort', onAbort, { once: true })
      this.#waiters.add(done)
      return undefined
    })
  }

  silentForMs(): number {
    return this.#reflector.silentForMs()
  }

  get isWatching(): boolean {
    return this.#reflector.isWatching
  }

  get resourceVersion(): string | undefined {
    return this.#reflector.resourceVersion
  }

  /** The watch never delivers an object outside its selection, and only the server evaluates labels and fields. */
  #isSelected({ metadata }: T): boolean {
    const { namespace, labelSelector, fieldSelector } = this.#selection
    if (labelSelector !== undefined || fieldSelector !== undefined) return false
    return namespace === undefined || namespace === metadata.namespace
  }

  /** In the order of the store's changes, even if a handler writes during its notification. */
  #deliver(changes: readonly Change<T>[]): Promise<void> | undefined {
    if (changes.length > 0) this.#undelivered.push(changes)
    if (this.#isDelivering) return undefined
    this.#isDelivering = true
    for (let next = this.#undelivered.shift(); next !== undefined; next = this.#undelivered.shift())
      for (const change of next) for (const delivery of this.#deliveries) delivery.push(change)
    this.#isDelivering = false
    const full = [...this.#deliveries].map((d) => d.room()).filter((p) => p !== undefined)
    return full.length === 0 ? undefined : Promise.all(full).then(() => undefined)
  }

  async #finishSync(): Promise<void> {
    await Promise.all([...this.#deliveries].map((d) => d.drained()))
    this.#synced = true
    for (const done of this.#waiters) done()
    this.#waiters.clear()
  }
}
