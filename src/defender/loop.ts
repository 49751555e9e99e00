// The Defender's loop. Every change triggers a decision at once, and changes during a decision share the next one. One swap of the ledger commits a
// decision, and only then are the permits written. Everything in memory is also in the ledger and the permits.
import { LEDGER_NAME, type DefenderLedger, defenderLedger, type LedgerSpec } from '#api/kinds/defender-ledger.ts'
import { FIELD_MANAGERS } from '#api/names.ts'
import type { Clock, Timer } from '#lib/clock.ts'
import { defined } from '#lib/defined.ts'
import { messageOf } from '#lib/errors.ts'
import type { Logger } from '#lib/log.ts'
import type { Random } from '#lib/random.ts'
import type { KubeClient } from '#kube/client.ts'
import { type Mutation, compareAndSwap } from '#runtime/compare-and-swap.ts'
import type { Part } from '#runtime/manager.ts'
import { Pace } from '#runtime/pace.ts'
import type { Caches } from './caches.ts'
import { cacheBehind, grantKey, hasNewGrants, newGrants } from './confirm.ts'
import { DefenderTime } from './defender-time.ts'
import { asOfMs, emptyLedger } from './ledger.ts'
import type { DefenderMetrics } from './metrics.ts'
import { Observer } from './observe.ts'
import { OldPermits } from './old-permits.ts'
import { type Decide, type Decision, decide as decideRightly } from './plan.ts'
import type { Snapshot } from './snapshot.ts'
import { StatusReporter } from './status-reporter.ts'

/** Thousands of heartbeats and conditions a second must not evaluate the waiting permits thousands of times. */
const FLEET_MS = 20
/** Permits wait: rates and budgets change without an event. */
const WAITING_MS = 1_000
/** How often orphans' heartbeats are checked. Agents renew every ten seconds. */
const ORPHAN_MS = 2_000
/** Nothing waits: old permits are cleaned up, and manual changes of the ledger are noticed. */
const IDLE_MS = 600_000
const AFTER_FAILURE_MS = 1_000
/**
 * Maximum age of the readings behind a grant. A process that was stopped between reading and writing, with its host or by a signal, decides again. A slow
 * server answers within this time.
 */
const READINGS_LAST_MS = 30_000
/** A timer that fires slightly early decides nothing. */
const LEAST_LEASE_MS = 5
/**
 * A lease left over after a cycle waits for a failed write, or for a cache that does not show the write yet. Retrying at once would mean a hundred
 * times a second.
 */
const AFTER_LEASE_MS = 1_000

export interface LoopOptions {
  readonly client: KubeClient
  readonly caches: Caches
  readonly clock: Clock
  readonly random: Random
  readonly log: Logger
  /** Checked before each write. A fenced client checks by itself. */
  readonly isLeader?: () => boolean
  /** Unique to this process. */
  readonly identity: string
  readonly cluster: string | undefined
  /** Undefined until the comparison is done. */
  readonly alteredPolicies?: (() => Snapshot['alteredPolicies']) | undefined
  readonly metrics?: DefenderMetrics
  /** The API server's wall clock, if known. */
  readonly serverNow?: () => number | undefined
  /** Only tests replace it. */
  readonly decide?: Decide
  readonly swap?: typeof compareAndSwap
}

interface Decided {
  readonly snapshot: Snapshot
  readonly decision: Decision
  readonly object: DefenderLedger | undefined
}

export class DefenderLoop implements Part {
  readonly name = 'defender'
  readonly #options: LoopOptions
  readonly #observer: Observer
  readonly #time: DefenderTime
  readonly #reporter: StatusReporter
  readonly #oldPermits: OldPermits
  readonly #pace: Pace
  readonly #stopping = new AbortController()
  readonly #removers: (() => void)[] = []
  /** As the server had it at the last read or write. */
  #ledger: { readonly object: DefenderLedger | undefined } | undefined
  #timer: Timer | undefined
  #timerAt = Infinity
  #running: Promise<void> | undefined
  #isWanted = false
  #isStopped = false
  #watchesFleet = true

  constructor(options: LoopOptions) {
    this.#options = options
    this.#observer = new Observer(options)
    this.#pace = new Pace(options.clock)
    this.#time = new DefenderTime(options.clock, options.serverNow)
    const writing = { ...options, mayWrite: () => this.#mayWrite() }
    this.#reporter = new StatusReporter({ ...writing, leases: this.#observer.leases })
    this.#oldPermits = new OldPermits(writing)
  }

  start(): void {
    const { permits, policies, holds, approvals, brakes, inventories, maintenance, sets, components } =
      this.#options.caches
    const wake = () => this.#wake()
    const readState = () => {
      if (this.#watchesFleet) this.#decideIn(FLEET_MS)
    }
    this.#removers.push(
      permits.onChange((before, now) => {
        if (before !== undefined && now === undefined) this.#reporter.forget(before)
      }),
      this.#observer.listen({ permits: wake, fleet: readState }),
      policies.onChange((before, now) => {
        if (before !== undefined && now === undefined) this.#reporter.forget(before)
        wake()
      }),
      holds.onChange(wake),
      approvals.onChange(wake),
      brakes.onChange(wake),
      inventories.onChange(wake),
      maintenance.onChange(wake),
      sets.onChange(readState),
      components.onChange(readState),
    )
    wake()
  }

  /** Something changed that is not in a cache. */
  wake(): void {
    this.#wake()
  }

  /** No write starts after this. Resolves when the last one has ended. */
  async stop(): Promise<void> {
    this.#isStopped = true
    this.#stopping.abort()
    this.#timer?.cancel()
    for (const remove of this.#removers.splice(0)) remove()
    await this.#running
    await this.#oldPermits.ended
  }

  #mayWrite(): boolean {
    return !this.#isStopped && (this.#options.isLeader?.() ?? true)
  }

  /** At once, after simultaneous events are in the caches and the running cycle has ended. */
  #wake(): void {
    this.#isWanted = true
    if (this.#running === undefined) queueMicrotask(() => this.#run())
  }

  #decideIn(ms: number): void {
    if (this.#isStopped) return
    const { clock } = this.#options
    const at = clock.monotonic() + ms
    if (at >= this.#timerAt) return
    this.#timer?.cancel()
    this.#timerAt = at
    this.#timer = clock.after(ms, () => {
      this.#timerAt = Infinity
      this.#wake()
    })
  }

  #run(): void {
    if (this.#running !== undefined || this.#isStopped) return
    this.#isWanted = false
    const { log } = this.#options
    this.#running = this.#cycle()
      .catch((error: unknown) => {
        if (!this.#isStopped) log.warn('cannot decide permits', { error: messageOf(error) })
        return AFTER_FAILURE_MS
      })
      .then((ms) => {
        this.#running = undefined
        if (this.#isWanted) this.#wake()
        else this.#decideIn(ms)
      })
  }

  /** Returns the milliseconds until the next cycle. */
  async #cycle(): Promise<number> {
    if (!this.#mayWrite()) return IDLE_MS
    this.#ledger ??= { object: await this.#observer.readLedger() }
    const swapped = await this.#pace.run(() => this.#decide(this.#ledger?.object), this.#stopping.signal)
    if (swapped === undefined) return AFTER_FAILURE_MS
    const { decision, object, snapshot } = swapped
    this.#ledger = { object }
    const spec = object?.spec
    const now = this.#time.at(asOfMs(spec))
    const areReported = await this.#reporter.report(decision, snapshot, now)
    const areExplained = await this.#reporter.explain(snapshot, spec, now)
    this.#oldPermits.sweep(now, spec?.grants)
    this.#options.metrics?.observe(decision, spec, snapshot)
    return Math.min(this.#nextDecisionMs(decision, spec), areReported && areExplained ? Infinity : AFTER_FAILURE_MS)
  }

  /** When this resolves, the grants are in the ledger. Otherwise nothing is reported. */
  async #decide(held: DefenderLedger | undefined): Promise<Decided | undefined> {
    const { client, clock, random, identity, log } = this.#options
    const { decide = decideRightly, swap: swapRightly = compareAndSwap } = this.#options
    const decideOver = (snapshot: Snapshot, ledger: LedgerSpec | undefined): Decision =>
      decide(snapshot, ledger, { now: this.#time.at(asOfMs(ledger)), leader: identity })
    const isOld = this.#ageing()
    const observed = await this.#observer.observe(held?.spec)
    const first = decideOver(observed, held?.spec)
    const isConfirmed = hasNewGrants(first)
    const snapshot = isConfirmed ? await this.#confirmed(observed) : observed
    let decision: Decision | undefined
    const mutate = (current: DefenderLedger | undefined): Mutation<DefenderLedger> => {
      decision = current === held && snapshot === observed ? first : decideOver(snapshot, current?.spec)
      if (!isConfirmed && hasNewGrants(decision))
        return { kind: 'Refuse', reason: 'another ledger grants what was not confirmed; decided again' }
      if (isConfirmed && hasNewGrants(decision) && isOld())
        return { kind: 'Refuse', reason: 'the readings behind its grants are old; decided again' }
      if (decision.ledger === undefined) return { kind: 'Keep' }
      const { metadata } = current ?? {}
      return { kind: 'Write', object: { ...emptyLedger(decision.ledger), ...defined({ metadata }) } }
    }
    const swap = await swapRightly(client, defenderLedger, { name: LEDGER_NAME }, mutate, {
      clock,
      random,
      held,
      mayWrite: () => this.#mayWrite(),
      fieldManager: FIELD_MANAGERS.defender,
    })
    if (swap.kind === 'Swapped' && decision !== undefined) {
      if (!isConfirmed || !hasNewGrants(decision) || !isOld()) return { decision, object: swap.object, snapshot }
      await this.#withdraw(newGrants(decision), swapRightly)
    }
    this.#ledger = undefined
    if (swap.kind !== 'Swapped') log.warn('the ledger write was rejected', { reason: swap.reason })
    return undefined
  }

  /** A write that was under way while this process or its host was stopped. No permit shows its grants yet: they leave the ledger and are decided again. */
  async #withdraw(grants: ReadonlySet<string>, swap: typeof compareAndSwap): Promise<void> {
    const { client, clock, random, log } = this.#options
    const mutate = (current: DefenderLedger | undefined): Mutation<DefenderLedger> => {
      const kept = current?.spec.grants?.filter((g) => !grants.has(grantKey(g)))
      if (current === undefined || kept?.length === current.spec.grants?.length) return { kind: 'Keep' }
      return { kind: 'Write', object: { ...current, spec: { ...current.spec, ...defined({ grants: kept }) } } }
    }
    const { kind } = await swap(client, defenderLedger, { name: LEDGER_NAME }, mutate, {
      clock,
      random,
      mayWrite: () => this.#mayWrite(),
      fieldManager: FIELD_MANAGERS.defender,
    })
    log.warn('grants were written late and are decided again', { grants: grants.size, withdrawn: kind === 'Swapped' })
  }

  /** From now on, by both clocks: one stops while a host is suspended, the other can be set. */
  #ageing(): () => boolean {
    const { clock } = this.#options
    const [began, beganAt] = [clock.monotonic(), clock.now()]
    return () => Math.max(clock.monotonic() - began, clock.now() - beganAt) > READINGS_LAST_MS
  }

  /** Blocks all grants of this cycle if the server's policies, holds or approvals differ from the caches. */
  async #confirmed(snapshot: Snapshot): Promise<Snapshot> {
    const behind = await cacheBehind(this.#options.client, this.#options.caches)
    return behind === undefined ? snapshot : { ...snapshot, unknown: behind }
  }

  #nextDecisionMs(decision: Decision, spec: LedgerSpec | undefined): number {
    const grants = spec?.grants ?? []
    const isWaiting = decision.permits.some((p) => p.targets.some((t) => t.verdict.verdict === 'Waiting'))
    const hasOrphans = grants.some((g) => g.state === 'Orphaned')
    this.#watchesFleet = isWaiting || hasOrphans
    const lease = this.#observer.leases.nextEndMs()
    return Math.min(
      isWaiting ? WAITING_MS : Infinity,
      hasOrphans ? ORPHAN_MS : Infinity,
      lease === undefined ? Infinity : lease === 0 ? AFTER_LEASE_MS : Math.max(lease, LEAST_LEASE_MS),
      spec === undefined || grants.length === 0 ? IDLE_MS : IDLE_MS / 10,
    )
  }
}
