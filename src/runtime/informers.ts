// The caches of one process: one list-watch per kind, shared by all users of that kind, and a reliable answer to whether a cache is fresh enough for decisions.
import type { Clock } from '#lib/clock.ts'
import { defined } from '#lib/defined.ts'
import { formatDuration } from '#lib/duration.ts'
import { KubeNodeError, isKubeNodeError } from '#lib/errors.ts'
import type { Logger } from '#lib/log.ts'
import type { Random } from '#lib/random.ts'
import type { KubeClient } from '#kube/client.ts'
import { ApiError } from '#kube/errors.ts'
import type { Handler, HandlerOptions } from '#kube/delivery.ts'
import { createInformer, type Informer, type InformerNotice } from '#kube/informer.ts'
import type { Selection } from '#kube/reflector.ts'
import type { Indexer } from '#kube/store.ts'
import type { KubeObject } from '#api/schema/object.ts'
import { qualifiedPlural, type ObjectKey, type ResourceType } from '#api/schema/resource.ts'
import { runtimeErrors } from './runtime-errors.ts'

export interface SharedInformer<T extends KubeObject = KubeObject> {
  readonly type: ResourceType<T>
  /** A string is the name of a cluster-scoped object. The returned object is shared: never change it. */
  get(key: ObjectKey | string): T | undefined
  list(): readonly T[]
  /** Throws for an index that was not declared. */
  byIndex(index: string, value: string): readonly T[]
  /** `old` undefined: created; `now` undefined: deleted. Cached objects are reported as created first. Returns a function that removes the handler. */
  onChange(handler: Handler<T>, options?: HandlerOptions): () => void
  /**
   * Puts the result of this process's own successful write into the cache, so that no reader decides on the version before it. Never call it for a write whose
   * outcome is unknown. Returns false if the cache cannot take the object; the watch then delivers it.
   */
  assume(written: T): boolean
  /** False until the whole first list is in the cache: until then an absent object is unknown, not absent. */
  readonly isSynced: boolean
  synced(signal?: AbortSignal): Promise<void>
  silentForMs(): number
  /** Runs until the signal aborts. For the process's supervisor, which may also use `start`. */
  run(signal: AbortSignal): Promise<void>
}

interface SharedOptions<T extends KubeObject> {
  /** Restricts the watch to part of the kind; another selection is another list-watch. */
  readonly selection?: Selection
  readonly indexes?: Readonly<Record<string, Indexer<T>>>
}

export interface Informers {
  /** The one cache of this kind, shared by all callers. May be called before or after `start`. */
  of<T extends KubeObject>(type: ResourceType<T>, options?: SharedOptions<T>): SharedInformer<T>
  all(): readonly SharedInformer[]
  /** Runs every requested cache, including later ones. */
  start(): void
  stop(): Promise<void>
  /** Resolves once every cache requested so far is complete. */
  synced(signal?: AbortSignal): Promise<void>
}

export interface InformersOptions {
  /** Not the fenced one: standbys keep their caches warm. */
  readonly client: KubeClient
  readonly clock: Clock
  readonly random: Random
  readonly log: Logger
  readonly startSpreadMs?: number
  /** The server refused the identity that lists or watches a kind. */
  readonly onRefused?: (error: ApiError) => void
}

export function createInformers(options: InformersOptions): Informers {
  return new SharedInformers(options)
}

class SharedInformers implements Informers {
  readonly #options: InformersOptions
  readonly #caches = new Map<string, Cache>()
  readonly #stop = new AbortController()
  #isStarted = false

  constructor(options: InformersOptions) {
    this.#options = options
  }

  of<T extends KubeObject>(
    type: ResourceType<T>,
    { selection, indexes = {} }: SharedOptions<T> = {},
  ): SharedInformer<T> {
    const id = idOf(type, selection)
    const known = this.#caches.get(id) as Cache<T> | undefined
    const cache = known ?? new Cache<T>(this.#informer(type, selection))
    for (const [name, indexer] of Object.entries(indexes)) cache.informer.addIndex(name, indexer)
    if (known !== undefined) return known
    this.#caches.set(id, cache)
    if (this.#isStarted) void cache.run(this.#stop.signal)
    return cache
  }

  all(): readonly SharedInformer[] {
    return [...this.#caches.values()]
  }

  start(): void {
    if (this.#isStarted) return
    this.#isStarted = true
    for (const cache of this.#caches.values()) void cache.run(this.#stop.signal)
  }

  async stop(): Promise<void> {
    this.#stop.abort(new KubeNodeError(runtimeErrors.KN3001_caches(), { retry: 'later' }))
    await Promise.all([...this.#caches.values()].map((cache) => cache.ended))
  }

  async synced(signal?: AbortSignal): Promise<void> {
    await Promise.all([...this.#caches.values()].map((cache) => cache.synced(signal)))
  }

  #informer<T extends KubeObject>(type: ResourceType<T>, selection: Selection | undefined): Informer<T> {
    const { client, clock, random, log, startSpreadMs, onRefused } = this.#options
    const cacheLog = log.with({ cache: qualifiedPlural(type) })
    return createInformer<T>({
      client,
      type,
      clock,
      random,
      ...defined({ selection, startSpreadMs }),
      notice: (notice) => {
        logNotice(cacheLog, notice)
        if (notice.kind === 'Failed' && notice.error instanceof ApiError && notice.error.status === 403)
          onRefused?.(notice.error)
      },
    })
  }
}

class Cache<T extends KubeObject = KubeObject> implements SharedInformer<T> {
  readonly informer: Informer<T>
  #running: Promise<void> | undefined

  constructor(informer: Informer<T>) {
    this.informer = informer
  }

  get type(): ResourceType<T> {
    return this.informer.type
  }

  get(key: ObjectKey | string): T | undefined {
    return this.informer.store.get(typeof key === 'string' ? { name: key } : key)
  }

  list(): readonly T[] {
    return this.informer.store.list()
  }

  byIndex(index: string, value: string): readonly T[] {
    return this.informer.store.byIndex(index, value)
  }

  onChange(handler: Handler<T>, options?: HandlerOptions): () => void {
    return this.informer.addHandler(handler, options)
  }

  assume(written: T): boolean {
    return this.informer.assume(written)
  }

  get isSynced(): boolean {
    return this.informer.isSynced
  }

  synced(signal?: AbortSignal): Promise<void> {
    return this.informer.synced(signal)
  }

  silentForMs(): number {
    return this.informer.silentForMs()
  }

  /** Runs once, for the first caller. */
  run(signal: AbortSignal): Promise<void> {
    this.#running ??= this.informer.run(signal)
    return this.#running
  }

  get ended(): Promise<void> {
    return this.#running ?? Promise.resolve()
  }
}

const idOf = (type: ResourceType, { namespace = '', labelSelector = '', fieldSelector = '' }: Selection = {}): string =>
  [qualifiedPlural(type), type.version, namespace, labelSelector, fieldSelector].join('\n')

const TROUBLES: ReadonlySet<InformerNotice['kind']> = new Set(['Failed', 'WentBack', 'HandlerFailed', 'Silent'])

function logNotice(log: Logger, notice: InformerNotice): void {
  const isTrouble = TROUBLES.has(notice.kind)
  log[isTrouble ? 'warn' : 'debug'](isTrouble ? 'cache degraded' : 'cache', { reason: notice.kind, ...notice })
}

/** A server sends a bookmark each minute. A reflector drops a silent watch after at most 2.5 minutes and needs time to reconnect. */
const STALE_AFTER_MS = 180_000

/** Throws unless every cache is complete and up to date. Call it before any disruption: unknown blocks. */
export function requireFresh(caches: readonly SharedInformer[], staleAfterMs = STALE_AFTER_MS): void {
  for (const cache of caches) {
    const what = qualifiedPlural(cache.type)
    if (!cache.isSynced)
      throw new KubeNodeError(runtimeErrors.KN3050({ what }), {
        retry: 'later',
      })
    const silent = cache.silentForMs()
    if (silent > staleAfterMs)
      throw new KubeNodeError(runtimeErrors.KN3051({ what, silent: formatDuration(silent) }), { retry: 'later' })
  }
}

/** How soon to retry after `requireFresh` threw; undefined for any other error. This is not a failure of the key, and must not count as one. */
export function blindFor(error: unknown): number | undefined {
  if (!isKubeNodeError(error)) return undefined
  return error.code === runtimeErrors.KN3050.code
    ? SYNC_CHECK_MS
    : error.code === runtimeErrors.KN3051.code
      ? STALE_CHECK_MS
      : undefined
}

/** A first list takes a while, and every active key waits for it. */
const SYNC_CHECK_MS = 250
const STALE_CHECK_MS = 5_000
