// Keeps a store equal to an API server's state of one kind: list, watch, resume, list again. Only its signal ends it.
import type { Clock } from '#lib/clock.ts'
import { defined } from '#lib/defined.ts'
import { KubeNodeError } from '#lib/errors.ts'
import type { Random } from '#lib/random.ts'
import type { KubeObject } from '#api/schema/object.ts'
import { qualifiedPlural, type ResourceType } from '#api/schema/resource.ts'
import { backoffMs } from './backoff.ts'
import type { KubeClient, ListOptions, ListPage, WatchOptions } from './client.ts'
import { isGone, isTooLargeResourceVersion } from './errors.ts'
import { KeptTooMuch, type KeptShare } from './kept-bound.ts'
import { FIRST_PAGE, type ListRead, NOTHING_READ, nextPageSize, readFurther, smallerPage } from './page-size.ts'
import { Replica, type Change } from './replica.ts'
import type { Store } from './store.ts'
import { withoutManagedFields } from './trim.ts'
import { kubeErrors } from './kube-errors.ts'

export interface Selection {
  readonly namespace?: string
  readonly labelSelector?: string
  readonly fieldSelector?: string
}

/** What happened, for logs and metrics only. */
export type ReflectorNotice =
  | { readonly kind: 'Listed'; readonly objects: number; readonly pages: number; readonly resourceVersion: string }
  /** The server accepted the watch. */
  | { readonly kind: 'Watching'; readonly resourceVersion: string }
  | { readonly kind: 'WatchEnded'; readonly events: number }
  | { readonly kind: 'Silent'; readonly forMs: number }
  | { readonly kind: 'Gone' }
  | { readonly kind: 'WentBack'; readonly seen: string; readonly now: string; readonly accepted: boolean }
  | { readonly kind: 'Failed'; readonly error: unknown; readonly failures: number; readonly retryInMs: number }

export interface ReflectorOptions<T extends KubeObject> {
  readonly client: KubeClient
  readonly type: ResourceType<T>
  readonly selection?: Selection
  readonly store: Store<T>
  readonly clock: Clock
  readonly random: Random
  /** Every change, in order, exactly once. A returned promise pauses the stream until it resolves. */
  readonly onChanges: (changes: readonly Change<T>[]) => Promise<void> | undefined
  /** Called after each complete list. */
  readonly onListed: () => void
  readonly notice?: (notice: ReflectorNotice) => void
  /** Reduces an object for the cache; must keep name, namespace, uid and resourceVersion. */
  readonly transform?: (object: T) => T
  /** Bounds what is kept; beyond it, everything is forgotten and the list fails. */
  readonly kept?: KeptShare
  /** The server sends a bookmark at least this often. */
  readonly bookmarkPeriodMs?: number
  /** Lists again at this interval even without errors; repairs what a server dropped. */
  readonly relistEveryMs?: number
  /** The first list waits up to this long, so that a fleet that starts together does not list together. */
  readonly startSpreadMs?: number
}

const BOOKMARK_PERIOD_MS = 60_000
/** Less than two bookmark periods, but more than the 1.25 by which a server may be late. */
const SILENT_PERIODS = 1.75
/** A kube-apiserver may skip a new watch in its first round of bookmarks: one in five gets nothing for two periods. */
const FIRST_SILENT_PERIODS = 2.5
/** Like client-go: servers end watches after five to ten minutes, at random. */
const WATCH_SECONDS = { least: 300, most: 600 } as const
/** A watch that lived this long was healthy. */
const HEALTHY_MS = 10_000
/** Watches in a row that ended sooner, after an event, before the next one waits; and how long it waits at most. A server may end them without an end. */
const MOST_SHORT = 3
const SHORT_WAIT_MS = 1_000
/** A server that stays behind the observed state was restored from a backup: after this time its state counts again. */
const ACCEPT_OLDER_AFTER_MS = 600_000
/** A server that lost its history lost it for all clients. Lists are expensive, so spread them out. */
const RELIST_SPREAD_MS = 500
/** Expired continue tokens in a row before the list is requested in one piece. */
const MAX_EXPIRED_PAGES = 2

interface NextPage {
  readonly token: string | undefined
  readonly size: number
  readonly resourceVersion: string
  readonly read: ListRead
}

class Silence extends Error {
  readonly forMs: number

  constructor(forMs: number) {
    super(`no data for ${forMs} ms`)
    this.forMs = forMs
  }
}

export class Reflector<T extends KubeObject> {
  readonly #o: ReflectorOptions<T>
  readonly #replica: Replica<T>
  readonly #periodMs: number
  #failures = 0
  #expiredPages = 0
  /** Watches in a row that ended soon. */
  #shortWatches = 0
  /** Lists since a watch last delivered anything. */
  #fruitlessLists = 0
  #behindSince: number | undefined
  /** When the server last answered. */
  #lastEventAt: number
  /** Start of the open watch's silence. */
  #idleSince = 0
  /** Whether the open watch has delivered anything. */
  #hasSpoken = false
  /** The last watch was closed for silence: accepting the next one, or a list, proves nothing of watches yet. */
  #isSuspect = false
  #listedAt: number | undefined
  #connected = false
  #holding = false

  constructor(options: ReflectorOptions<T>) {
    this.#o = options
    this.#replica = new Replica(options.store, options.transform ?? withoutManagedFields, options.kept)
    this.#periodMs = options.bookmarkPeriodMs ?? BOOKMARK_PERIOD_MS
    this.#lastEventAt = options.clock.monotonic()
  }

  /** Time since the server last answered: a list page, an event, a bookmark, an accepted watch. */
  silentForMs(): number {
    return this.#o.clock.monotonic() - this.#lastEventAt
  }

  get isWatching(): boolean {
    return this.#connected
  }

  /** Everything up to here is in the store. */
  get resourceVersion(): string | undefined {
    return this.#replica.complete
  }

  assume(object: T): boolean {
    const changes = this.#replica.assume(object)
    if (changes !== undefined) void this.#o.onChanges(changes)
    return changes !== undefined
  }

  /** Resolves when the signal aborts; never rejects. */
  async run(signal: AbortSignal): Promise<void> {
    const { clock, random, startSpreadMs = 0 } = this.#o
    try {
      if (startSpreadMs > 0) await clock.sleep(startSpreadMs * random.next(), signal)
      while (!signal.aborted) {
        const wait = await this.#step(signal)
        if (wait > 0 && !signal.aborted) await clock.sleep(wait, signal)
      }
    } catch (e) {
      if (!signal.aborted) throw e
    }
  }

  /** One list or one watch; returns how long to wait before the next. */
  async #step(signal: AbortSignal): Promise<number> {
    try {
      if (this.#replica.resumeAt === undefined) await this.#list(signal)
      else await this.#watch(signal)
      return 0
    } catch (error) {
      if (signal.aborted) return 0
      if (error instanceof Silence) {
        // A server that was set back accepts a watch from a version that it does not have yet, and sends nothing until it has it. Only a list tells.
        if (this.#isSuspect) this.#replica.forgetResumePoint()
        this.#isSuspect = true
        this.#notice({ kind: 'Silent', forMs: error.forMs })
        return 0
      }
      if (error instanceof KeptTooMuch) await this.#o.onChanges(this.#replica.dropAll())
      return this.#afterFailure(error)
    }
  }

  #afterFailure(error: unknown): number {
    if (isGone(error) && this.#replica.resumeAt !== undefined) return this.#afterExpired(error)
    this.#failures++
    return this.#retryIn(error, backoffMs(this.#failures, this.#o.random.next(), error))
  }

  /** Losing history once is not a failure of the server; losing it again right after a list is. */
  #afterExpired(error: unknown): number {
    if (this.#replica.resumeLater()) return 0
    this.#notice({ kind: 'Gone' })
    this.#replica.forgetResumePoint()
    const spread = this.#o.random.next()
    if (this.#fruitlessLists === 0) return this.#retryIn(error, RELIST_SPREAD_MS * spread)
    this.#failures++
    return this.#retryIn(error, backoffMs(this.#failures + 1, spread, error))
  }

  #retryIn(error: unknown, retryInMs: number): number {
    this.#notice({ kind: 'Failed', error, failures: this.#failures, retryInMs })
    return retryInMs
  }

  async #list(signal: AbortSignal): Promise<void> {
    let next: NextPage = { token: undefined, size: FIRST_PAGE, resourceVersion: '', read: NOTHING_READ }
    let pages = 0
    do {
      next = await this.#takePage(signal, next, pages === 0)
      pages++
    } while (next.token !== undefined)
    const { resourceVersion } = next
    await this.#o.onChanges(this.#replica.endList(resourceVersion))
    this.#expiredPages = 0
    this.#fruitlessLists++
    this.#behindSince = undefined
    this.#listedAt = this.#o.clock.monotonic()
    this.#notice({ kind: 'Listed', objects: this.#o.store.size, pages, resourceVersion })
    this.#o.onListed()
  }

  /** Only the cached objects of a page outlive this call: keeping a page while the next one loads doubles a list's memory. */
  async #takePage(signal: AbortSignal, { token, size, read }: NextPage, isFirst: boolean): Promise<NextPage> {
    const page = await this.#page(signal, token, size)
    if (isFirst) {
      this.#checkTime(page.resourceVersion)
      this.#replica.beginList(page.resourceVersion, this.#mayGoBack())
    }
    await this.#o.onChanges(this.#replica.page(page.items))
    return {
      token: page.continue,
      size: nextPageSize(page.items),
      resourceVersion: page.resourceVersion,
      read: readFurther(read, page.items, this.#o.type),
    }
  }

  /** A client with bounds does not read a page of large objects; it may read a smaller one. */
  async #page(signal: AbortSignal, token: string | undefined, size: number): Promise<ListPage<T>> {
    try {
      return await this.#pageOf(signal, token, size)
    } catch (error) {
      const fewer = smallerPage(size, error)
      if (this.#isInOnePiece) this.#expiredPages = 0
      return this.#page(signal, token, fewer)
    }
  }

  async #pageOf(signal: AbortSignal, token: string | undefined, size: number): Promise<ListPage<T>> {
    const { client, type, selection = {} } = this.#o
    const options: ListOptions = {
      ...selection,
      signal,
      ...(this.#isInOnePiece ? {} : { limit: size }),
      ...defined({ continue: token }),
      ...this.#notOlder(token),
    }
    try {
      const page = await client.list(type, options)
      if (!this.#isSuspect) this.#noteEvent()
      return page
    } catch (e) {
      if (token !== undefined && isGone(e)) this.#expiredPages++
      if (isTooLargeResourceVersion(e)) this.#behindSince ??= this.#o.clock.monotonic()
      throw e
    }
  }

  get #isInOnePiece(): boolean {
    return this.#expiredPages >= MAX_EXPIRED_PAGES
  }

  /** Requests a state at least as new as the observed one, until it is clear that the server never catches up. */
  #notOlder(token: string | undefined): Pick<ListOptions, 'resourceVersion' | 'resourceVersionMatch'> {
    const { highest } = this.#replica
    if (token !== undefined || highest === undefined || this.#behindSince === undefined || this.#mayGoBack()) return {}
    return { resourceVersion: highest, resourceVersionMatch: 'NotOlderThan' }
  }

  #mayGoBack(): boolean {
    return this.#behindSince !== undefined && this.#o.clock.monotonic() - this.#behindSince >= ACCEPT_OLDER_AFTER_MS
  }

  #checkTime(now: string): void {
    if (!this.#replica.isTimeTravel(now)) {
      this.#behindSince = undefined
      return
    }
    const seen = this.#replica.highest ?? ''
    this.#behindSince ??= this.#o.clock.monotonic()
    const accepted = this.#mayGoBack()
    this.#notice({ kind: 'WentBack', seen, now, accepted })
    if (accepted) return
    throw new KubeNodeError(kubeErrors.KN2410_stale({ type: qualifiedPlural(this.#o.type), now, seen }), {
      retry: 'later',
    })
  }

  async #watch(signal: AbortSignal): Promise<void> {
    const { client, type, clock } = this.#o
    const resourceVersion = this.#replica.resumeAt ?? ''
    const stop = new AbortController()
    const onAbort = () => stop.abort(signal.reason)
    signal.addEventListener('abort', onAbort, { once: true })
    const startedAt = clock.monotonic()
    this.#idleSince = startedAt
    this.#hasSpoken = false
    const dog = this.#watchdog(stop)
    let events = 0
    try {
      for await (const event of client.watch(type, this.#watchOptions(resourceVersion, stop.signal))) {
        this.#noteEvent()
        this.#hasSpoken = true
        this.#connected = true
        this.#failures = 0
        this.#fruitlessLists = 0
        events++
        const changes = this.#replica.event(event)
        const held = changes.length === 0 ? undefined : this.#o.onChanges(changes)
        if (held !== undefined) await this.#hold(held)
        if (this.#isRelistDue()) this.#replica.forgetResumePoint()
        if (this.#replica.resumeAt === undefined) break
      }
      this.#notice({ kind: 'WatchEnded', events })
    } catch (e) {
      throw stop.signal.reason instanceof Silence ? stop.signal.reason : e
    } finally {
      this.#connected = false
      if (clock.monotonic() - startedAt >= HEALTHY_MS) this.#failures = this.#fruitlessLists = 0
      dog.cancel()
      signal.removeEventListener('abort', onAbort)
    }
    await this.#afterCleanEnd(clock.monotonic() - startedAt, events, signal)
  }

  /** While this side pauses the stream, silence means nothing. */
  async #hold(busy: Promise<void>): Promise<void> {
    this.#holding = true
    try {
      await busy
    } finally {
      this.#holding = false
      this.#noteEvent()
    }
  }

  /** Back off from a server that ends watches as soon as they start. */
  async #afterCleanEnd(livedMs: number, events: number, signal: AbortSignal): Promise<void> {
    if (livedMs >= HEALTHY_MS) {
      this.#shortWatches = 0
      return
    }
    this.#shortWatches++
    const waitMs = this.#waitAfterShort(events)
    if (waitMs !== undefined) await this.#o.clock.sleep(waitMs, signal)
  }

  #waitAfterShort(events: number): number | undefined {
    const { random } = this.#o
    if (events === 0) return backoffMs(++this.#failures, random.next())
    const tooMany = this.#shortWatches - MOST_SHORT
    return tooMany <= 0 ? undefined : Math.min(SHORT_WAIT_MS, backoffMs(tooMany, random.next()))
  }

  #watchOptions(resourceVersion: string, signal: AbortSignal): WatchOptions {
    const spread = WATCH_SECONDS.most - WATCH_SECONDS.least
    const timeoutSeconds = WATCH_SECONDS.least + this.#o.random.below(spread)
    const onOpen = () => {
      if (!this.#isSuspect) this.#noteEvent()
      this.#notice({ kind: 'Watching', resourceVersion })
    }
    return { ...this.#o.selection, resourceVersion, timeoutSeconds, signal, onOpen }
  }

  /** Ends the watch if the server is silent for too long: the connection may be half open. */
  #watchdog(stop: AbortController): { cancel(): void } {
    const { clock } = this.#o
    let timer = { cancel: (): void => undefined }
    const laterMs = this.#periodMs * SILENT_PERIODS
    const check = (): void => {
      const boundMs = this.#hasSpoken ? laterMs : this.#periodMs * FIRST_SILENT_PERIODS
      // Whole milliseconds: a remainder below the clock's resolution would be waited for forever.
      const left = this.#holding ? boundMs : Math.ceil(boundMs - (clock.monotonic() - this.#idleSince))
      if (left <= 0) stop.abort(new Silence(boundMs))
      else timer = clock.after(Math.min(left, laterMs), check)
    }
    timer = clock.after(laterMs, check)
    return { cancel: () => timer.cancel() }
  }

  #isRelistDue(): boolean {
    const { relistEveryMs, clock } = this.#o
    return (
      relistEveryMs !== undefined && this.#listedAt !== undefined && clock.monotonic() - this.#listedAt >= relistEveryMs
    )
  }

  #noteEvent(): void {
    this.#lastEventAt = this.#o.clock.monotonic()
    this.#idleSince = this.#lastEventAt
    this.#isSuspect = false
  }

  #notice(notice: ReflectorNotice): void {
    this.#o.notice?.(notice)
  }
}
