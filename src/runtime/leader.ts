// Leader election on a Lease. Leadership ends by this process's monotonic clock, counted from before the last renewal was sent. It therefore ends here before
// another candidate may take over, even if a timer or reply is late or the process was stopped.
import type { Clock, Timer } from '#lib/clock.ts'
import { KubeNodeError, messageOf } from '#lib/errors.ts'
import type { Logger } from '#lib/log.ts'
import type { Random } from '#lib/random.ts'
import type { KubeClient } from '#kube/client.ts'
import { ApiError } from '#kube/errors.ts'
import type { WriteOutcome } from '#kube/outcome.ts'
import type { ObjectKey } from '#api/schema/resource.ts'
import {
  type Lease,
  type Sighting,
  annotated,
  givenBack,
  holderOf,
  isOver,
  leaseType,
  newLease,
  renewed,
  sighted,
  taken,
  transitionsOf,
} from './lease.ts'
import { runtimeErrors } from './runtime-errors.ts'
import { writeLease } from './write-lease.ts'

export interface LeaderTimes {
  /** Other candidates wait this long after the last renewal they observed. */
  readonly leaseMs: number
  /** The leader stops writing this long after it started its last successful renewal. */
  readonly renewDeadlineMs: number
  readonly retryMs: number
}

/** client-go's defaults: the five seconds between one leader's stop and the next one's start cover clock drift and a write in flight. */
export const DEFAULT_LEADER_TIMES: LeaderTimes = { leaseMs: 15_000, renewDeadlineMs: 10_000, retryMs: 2_000 }

/** One term of leadership. */
export interface LeaderContext {
  /** Aborts when the term ends. Only a hint: a process that was stopped learns late; `isLeader` knows at once. */
  readonly signal: AbortSignal
  /** Grows with every term, regardless of the holder. */
  readonly term: number
  readonly isLeader: () => boolean
}

export interface LeaderOptions {
  /** A separate client, so that queued writes cannot delay a renewal (F14). */
  readonly client: KubeClient
  readonly clock: Clock
  readonly random: Random
  readonly log: Logger
  readonly lease: ObjectKey
  /** Unique to this process, across restarts too. */
  readonly identity: string
  readonly times?: LeaderTimes
  /** Annotations that the leader writes on the Lease; other annotations stay. */
  readonly annotations?: Readonly<Record<string, string>>
  readonly onElected: (context: LeaderContext) => void
  readonly onLost: (reason: string) => void
  /** The server refused the identity. Called once, until the server accepts it again. If left out, the refusal is logged. */
  readonly onRefused?: (error: ApiError) => void
}

/** A missing right must be granted by a user; until then a candidate retries this often. */
export const REFUSED_RETRY_MS = 30_000

/** A further attempt follows a lost reply, or another client that was faster. */
const MOST_GIVE_BACKS = 3

const isRefusal = (e: unknown): e is ApiError => e instanceof ApiError && (e.status === 401 || e.status === 403)

interface Term extends LeaderContext {
  readonly abort: AbortController
  deadline: number
  timer: Timer
}

export class LeaderElection {
  readonly #options: LeaderOptions
  readonly #times: LeaderTimes
  readonly #stop = new AbortController()
  #running: Promise<void> | undefined
  #lease: Lease | undefined
  #sighting: Sighting | undefined
  #term: Term | undefined
  #isRefused = false
  /** Why the last attempts failed, as it was logged. */
  #trouble: string | undefined
  /** Set once the Lease was requested: it may be in this process's name even if no reply came. */
  #mayHold = false

  constructor(options: LeaderOptions) {
    this.#options = options
    this.#times = options.times ?? DEFAULT_LEADER_TIMES
    const { leaseMs, renewDeadlineMs, retryMs } = this.#times
    if (leaseMs > renewDeadlineMs && renewDeadlineMs > 1.5 * retryMs && retryMs > 0) return
    const seen = `lease ${leaseMs} ms, renew deadline ${renewDeadlineMs} ms, retry ${retryMs} ms`
    throw new KubeNodeError(runtimeErrors.KN1002_leader({ seen }))
  }

  isLeader(): boolean {
    return this.#term?.isLeader() ?? false
  }

  /** The Lease's holder at the last read. */
  holder(): string | undefined {
    return this.#lease && holderOf(this.#lease)
  }

  start(): void {
    this.#running ??= this.#run()
  }

  /**
   * Ends the term and gives the Lease back, so that the next leader need not wait. Also returns a Lease lost only to an unresponsive server. Call it after
   * the last write.
   */
  async stop(): Promise<void> {
    this.#stop.abort(new KubeNodeError(runtimeErrors.KN3001_election(), { retry: 'later' }))
    await this.#running
    this.#end('released')
    if (this.#mayHold) await this.#giveBack()
  }

  /** After a lost reply only a read shows who holds the Lease. The whole attempt takes no longer than one request may. */
  async #giveBack(): Promise<void> {
    const { client, clock, lease: key, identity, log } = this.#options
    const until = clock.monotonic() + this.#requestMs()
    for (let tries = 0; tries < MOST_GIVE_BACKS && clock.monotonic() < until; tries++) {
      const timeoutMs = until - clock.monotonic()
      try {
        const lease = this.#lease ?? (await client.get(leaseType, key, { timeoutMs }))
        if (lease === undefined || holderOf(lease) !== identity) return
        const outcome = await this.#write(givenBack(lease, clock.now()), until - clock.monotonic())
        if (outcome.kind === 'Applied' || outcome.kind === 'Denied') return
      } catch (error) {
        return log.warn('the lease is not released: it runs out by itself', {
          lease: key.name,
          error: messageOf(error),
        })
      }
      this.#lease = undefined
    }
  }

  async #run(): Promise<void> {
    const { clock, random } = this.#options
    const { signal } = this.#stop
    while (!signal.aborted) {
      try {
        await this.#tick()
      } catch (error) {
        this.#notRenewed(error)
        this.#lease = undefined
      }
      const isWaiting = this.#isRefused && !this.isLeader()
      const waitMs = isWaiting ? REFUSED_RETRY_MS : this.#times.retryMs
      await clock.sleep(random.jitter(waitMs), signal).catch(() => undefined)
    }
  }

  /** Logged until it changes: a server without space, or a webhook that is down, refuses every two seconds for hours. */
  #notRenewed(error: unknown): void {
    if (isRefusal(error)) return this.#refused(error)
    const text = messageOf(error)
    if (text === this.#trouble) return
    this.#trouble = text
    const { log, lease } = this.#options
    log.warn('cannot read or renew the lease', { lease: lease.name, error: text })
  }

  #refused(error: ApiError): void {
    const { log, lease, onRefused } = this.#options
    if (this.#isRefused) return
    this.#isRefused = true
    if (onRefused !== undefined) onRefused(error)
    else log.error('not allowed to hold the lease', { lease: lease.name, error })
  }

  async #tick(): Promise<void> {
    const { clock, identity } = this.#options
    const startedAt = clock.monotonic()
    if (this.#term !== undefined && !this.#term.isLeader()) this.#end('renew deadline exceeded')
    // A leader renews the version it wrote and reads again only after a refusal: one request per renewal.
    const lease = (this.isLeader() && this.#lease) || (await this.#read())
    const isOurs = this.isLeader() && holderOf(lease) === identity
    if (this.#term !== undefined && !isOurs) this.#end(`taken by ${holderOf(lease) ?? 'no holder'}`)

    this.#sighting = sighted(lease, this.#sighting, startedAt)
    if (!isOurs && !this.#isFree(lease, this.#sighting, startedAt)) {
      this.#trouble = undefined
      return
    }
    const wanted = isOurs ? renewed(lease, clock.now()) : taken(lease, identity, this.#times.leaseMs, clock.now())
    this.#mayHold = true
    const outcome = await this.#write(annotated(wanted, this.#options.annotations))
    if (outcome.kind !== 'Applied') {
      // Another candidate that was faster is no trouble.
      if (outcome.kind === 'Denied' || outcome.kind === 'Unknown') this.#notRenewed(outcome.error)
      // Refused or unknown: only a read can show the Lease's state. The deadline stays.
      this.#lease = undefined
      return
    }
    this.#isRefused = false
    this.#trouble = undefined
    this.#lease = outcome.object
    this.#extend(startedAt + this.#times.renewDeadlineMs, transitionsOf(outcome.object))
  }

  /** Also free if it is in this process's own name: the reply to the acquisition was lost, and no other process uses the name. */
  #isFree(lease: Lease, sighting: Sighting, monotonic: number): boolean {
    if (lease.metadata.uid === undefined || holderOf(lease) === this.#options.identity) return true
    return isOver(lease, sighting, monotonic, this.#times.leaseMs)
  }

  async #read(): Promise<Lease> {
    const { client, lease } = this.#options
    const { signal } = this.#stop
    const found = await client.get(leaseType, lease, { timeoutMs: this.#requestMs(), signal })
    this.#lease = found ?? newLease(lease)
    return this.#lease
  }

  #write(lease: Lease, timeoutMs = this.#requestMs()): Promise<WriteOutcome<Lease>> {
    return writeLease(this.#options.client, lease, { timeoutMs })
  }

  /** Short enough that a lost request leaves time for another before the deadline. */
  #requestMs(): number {
    return (this.#times.renewDeadlineMs - this.#times.retryMs) / 2
  }

  #extend(deadline: number, transitions: number): void {
    const { clock, log, identity, onElected } = this.#options
    if (clock.monotonic() >= deadline) return
    const arm = () => clock.after(deadline - clock.monotonic(), () => this.#end('renew deadline exceeded'))
    if (this.#term !== undefined) {
      this.#term.timer.cancel()
      this.#term.deadline = deadline
      this.#term.timer = arm()
      return
    }
    const abort = new AbortController()
    const term: Term = {
      abort,
      signal: abort.signal,
      term: transitions,
      deadline,
      timer: arm(),
      isLeader: () => !abort.signal.aborted && clock.monotonic() < term.deadline,
    }
    this.#term = term
    log.info('elected', { identity, term: transitions })
    onElected(term)
  }

  #end(reason: string): void {
    const term = this.#term
    if (term === undefined) return
    this.#term = undefined
    term.timer.cancel()
    term.abort.abort(new KubeNodeError(runtimeErrors.KN3012({ reason }), { retry: 'later' }))
    this.#options.log.info('leadership ended', { identity: this.#options.identity, reason })
    this.#options.onLost(reason)
  }
}
