// The Defender at work: whatever changes wakes it, a few milliseconds gather what comes together, one swap of the ledger decides it all, and only then the
// permits are told. It runs one cycle at a time and keeps nothing that the ledger and the permits do not say as well.
import { LEDGER_NAME, defenderLedger, type LedgerSpec } from '#api/kinds/defender-ledger.ts'
import { operationPermit, type OperationPermit, type PermitStatus } from '#api/kinds/operation-permit.ts'
import { FIELD_MANAGERS } from '#api/names.ts'
import { defenderPolicy } from '#api/kinds/defender-policy.ts'
import type { Clock, Timer } from '#lib/clock.ts'
import { messageOf } from '#lib/errors.ts'
import type { Logger } from '#lib/log.ts'
import type { Random } from '#lib/random.ts'
import type { KubeClient } from '#kube/client.ts'
import { type Mutation, compareAndSwap } from '#runtime/compare-and-swap.ts'
import type { Part } from '#runtime/manager.ts'
import { deleteExactly, updateExactly } from '#runtime/preconditions.ts'
import { approvalNeed } from './approvals.ts'
import { type Caches } from './caches.ts'
import { DecisionCounts } from './decision-counts.ts'
import { DefenderTime } from './defender-time.ts'
import { asOfMs, emptyLedger } from './ledger.ts'
import type { DefenderMetrics } from './metrics.ts'
import { Observer } from './observe.ts'
import { type Decide, type Decision, type PermitDecision, decide as decideRightly, phaseOf } from './plan.ts'
import { policyStatus } from './policy-status.ts'
import type { Snapshot } from './snapshot.ts'
import { isWorthWriting, permitStatus } from './status.ts'

/** Requests that come within this time are decided by one swap; a person does not notice it, a burst is one write. */
const BATCH_MS = 3
/** Something waits: rates and budgets move without an event that says so. */
const WAITING_MS = 1_000
/** Heartbeats of orphans are looked at this often; agents renew every ten seconds. */
const ORPHAN_MS = 2_000
/** Nothing waits: old permits are cleared away, and a ledger that was changed by hand is noticed. */
const IDLE_MS = 600_000
const AFTER_FAILURE_MS = 1_000
/** Permits written at the same time; the server has other things to do. */
const WRITES_AT_ONCE = 16
/** `seen` of a waiting permit is brought up to date no more often than this. */
const REFRESH_MS = 30_000
const KEEP_ENDED_MS = 24 * 3_600_000
/** Old permits deleted in one cycle. */
const MOST_DELETED = 50

export interface LoopOptions {
  readonly client: KubeClient
  readonly caches: Caches
  readonly clock: Clock
  readonly random: Random
  readonly log: Logger
  /** Asked before each write; a client that is fenced asks by itself. */
  readonly isLeader?: () => boolean
  /** Unique to this process. */
  readonly identity: string
  readonly cluster: string | undefined
  readonly metrics?: DefenderMetrics
  /** The API server's wall clock, where it is known. */
  readonly serverNow?: () => number | undefined
  /** Only tests plant others. */
  readonly decide?: Decide
  readonly swap?: typeof compareAndSwap
}

export class DefenderLoop implements Part {
  readonly name = 'defender'
  readonly #options: LoopOptions
  readonly #observer: Observer
  readonly #time: DefenderTime
  readonly #removers: (() => void)[] = []
  readonly #decisions = new DecisionCounts()
  /** By UID: the version over which we wrote last, so that a cache that is behind does not make us write again. */
  readonly #written = new Map<string, { readonly over: string; readonly at: number }>()
  #ledger: { readonly spec: LedgerSpec | undefined } | undefined
  #timer: Timer | undefined
  #timerAt = Infinity
  #running: Promise<void> | undefined
  #isWanted = false
  #isStopped = false
  #watchesFleet = true

  constructor(options: LoopOptions) {
    this.#options = options
    this.#observer = new Observer(options)
    this.#time = new DefenderTime(options.clock, options.serverNow)
  }

  start(): void {
    const { permits, policies, holds, approvals, machines, nodes, clusters, sets, components } = this.#options.caches
    const wake = () => this.#wake(BATCH_MS)
    const lookedUp = () => {
      if (this.#watchesFleet) wake()
    }
    const fleet = () => {
      this.#observer.fleetChanged()
      lookedUp()
    }
    this.#removers.push(
      permits.onChange(wake),
      policies.onChange(wake),
      holds.onChange(wake),
      approvals.onChange(wake),
      machines.onChange(fleet),
      nodes.onChange(fleet),
      sets.onChange(lookedUp),
      components.onChange(lookedUp),
    )
    if (clusters !== undefined) this.#removers.push(clusters.onChange(fleet))
    wake()
  }

  /** No write begins after this; resolves when the last one has ended. */
  async stop(): Promise<void> {
    this.#isStopped = true
    this.#timer?.cancel()
    for (const remove of this.#removers.splice(0)) remove()
    await this.#running
  }

  #mayWrite(): boolean {
    return !this.#isStopped && (this.#options.isLeader?.() ?? true)
  }

  #wake(ms: number): void {
    if (this.#isStopped) return
    if (this.#running !== undefined && ms <= BATCH_MS) {
      this.#isWanted = true
      return
    }
    const { clock } = this.#options
    const at = clock.monotonic() + ms
    if (at >= this.#timerAt) return
    this.#timer?.cancel()
    this.#timerAt = at
    this.#timer = clock.after(ms, () => {
      this.#timerAt = Infinity
      this.#run()
    })
  }

  #run(): void {
    if (this.#running !== undefined || this.#isStopped) return
    this.#isWanted = false
    const { log } = this.#options
    this.#running = this.#cycle()
      .catch((error: unknown) => {
        log.warn('cannot decide', { error: messageOf(error) })
        return AFTER_FAILURE_MS
      })
      .then((ms) => {
        this.#running = undefined
        this.#wake(this.#isWanted ? BATCH_MS : ms)
      })
  }

  /** Answers after how many milliseconds to look again. */
  async #cycle(): Promise<number> {
    if (!this.#mayWrite()) return IDLE_MS
    this.#ledger ??= { spec: await this.#observer.readLedger() }
    const snapshot = await this.#observer.observe(this.#ledger.spec)
    const swapped = await this.#swap(snapshot)
    if (swapped === undefined) return AFTER_FAILURE_MS
    const { decision, spec } = swapped
    this.#ledger = { spec }
    const now = this.#time.at(asOfMs(spec))
    await this.#tell(decision, snapshot, now)
    this.#decisions.observe(decision.permits, this.#options.clock.monotonic())
    await this.#explain(snapshot, spec, now)
    await this.#clear(snapshot, now)
    this.#options.metrics?.observe(decision, spec, snapshot)
    return this.#nextLook(decision, spec)
  }

  /** The grants are in the ledger when this resolves, or nothing is told to anybody. */
  async #swap(
    snapshot: Snapshot,
  ): Promise<{ readonly decision: Decision; readonly spec: LedgerSpec | undefined } | undefined> {
    const { client, clock, random, identity, log } = this.#options
    const { decide = decideRightly, swap: swapRightly = compareAndSwap } = this.#options
    let decision: Decision | undefined
    const mutate = (current: { readonly spec: LedgerSpec } | undefined): Mutation<ReturnType<typeof emptyLedger>> => {
      const now = this.#time.at(asOfMs(current?.spec))
      decision = decide(snapshot, current?.spec, { now, leader: identity })
      if (decision.ledger === undefined) return { kind: 'Keep' }
      return { kind: 'Write', object: { ...current, ...emptyLedger(decision.ledger), ...metadataOf(current) } }
    }
    const swap = await swapRightly(client, defenderLedger, { name: LEDGER_NAME }, mutate, {
      clock,
      random,
      mayWrite: () => this.#mayWrite(),
      fieldManager: FIELD_MANAGERS.defender,
    })
    if (swap.kind === 'Swapped' && decision !== undefined) return { decision, spec: swap.object.spec }
    this.#ledger = undefined
    if (swap.kind !== 'Swapped') log.warn('the ledger was not swapped', { reason: swap.reason })
    return undefined
  }

  async #tell({ permits }: Decision, snapshot: Snapshot, now: number): Promise<void> {
    const writes = permits.map((p) => () => this.#writeStatus(p, snapshot, now))
    const next = async (): Promise<void> => {
      for (let write = writes.shift(); write !== undefined; write = writes.shift()) await write()
    }
    await Promise.all(Array.from({ length: WRITES_AT_ONCE }, next))
  }

  async #writeStatus(decision: PermitDecision, snapshot: Snapshot, now: number): Promise<void> {
    const { client, clock, log } = this.#options
    const { permit } = decision
    const { uid = '', resourceVersion = '' } = permit.metadata
    const written = this.#written.get(uid)
    if (written?.over === resourceVersion || !this.#mayWrite()) return
    const left = this.#observer.leases.left(uid) ?? permit.spec.leaseSeconds * 1_000
    const wanted = permitStatus(decision, approvalsOf(permit, snapshot), { now, expiresAt: now + left })
    const isDue = clock.monotonic() - (written?.at ?? -Infinity) >= REFRESH_MS
    if (!isWorthWriting(permit, wanted) && !(isDue && isOutdated(permit.status, wanted))) return
    const outcome = await updateExactly(
      client,
      operationPermit,
      { ...permit, status: wanted },
      {
        subresource: 'status',
        fieldManager: FIELD_MANAGERS.defender,
      },
    )
    if (outcome.kind === 'Applied') {
      this.#written.set(uid, { over: resourceVersion, at: clock.monotonic() })
      this.#options.metrics?.decided(decision)
      return
    }
    // The next event of this permit, or the next look, tries again: what was granted is in the ledger.
    if (outcome.kind !== 'Stale')
      log.info('a permit was not told', { permit: permit.metadata.name, reason: outcome.kind })
    this.#wake(AFTER_FAILURE_MS)
  }

  /** Policies say whether they are understood. What they cannot be told now they are told at the next look. */
  async #explain({ policies, fleet }: Snapshot, ledger: LedgerSpec | undefined, now: number): Promise<void> {
    const { client, caches } = this.#options
    for (const compiled of policies) {
      const policy = caches.policies.get(compiled.name)
      const uid = policy?.metadata.uid ?? ''
      const over = policy?.metadata.resourceVersion ?? ''
      if (policy === undefined || this.#written.get(uid)?.over === over || !this.#mayWrite()) continue
      const at = this.#options.clock.monotonic()
      const decisions = this.#decisions.of(compiled.name, at)
      const sinceMs = at - (this.#written.get(uid)?.at ?? -Infinity)
      const status = policyStatus({ policy, compiled, ledger, fleet, now, decisions, sinceMs })
      if (status === undefined) continue
      const how = { subresource: 'status', fieldManager: FIELD_MANAGERS.defender }
      const outcome = await updateExactly(client, defenderPolicy, { ...policy, status }, how)
      if (outcome.kind === 'Applied') this.#written.set(uid, { over, at: this.#options.clock.monotonic() })
      else this.#wake(AFTER_FAILURE_MS)
    }
  }

  /** Permits that ended a day ago say nothing any more; deleting them changes nothing. */
  async #clear({ permits }: Snapshot, now: number): Promise<void> {
    const { client, caches } = this.#options
    const uids = new Set([...permits, ...caches.policies.list()].map((o) => o.metadata.uid ?? ''))
    for (const uid of this.#written.keys()) if (!uids.has(uid)) this.#written.delete(uid)
    const old = permits.filter((p) => isOver(p, now)).slice(0, MOST_DELETED)
    for (const permit of old) if (this.#mayWrite()) await deleteExactly(client, operationPermit, permit)
  }

  #nextLook(decision: Decision, spec: LedgerSpec | undefined): number {
    const grants = spec?.grants ?? []
    const isWaiting = decision.permits.some((p) => p.targets.some((t) => t.verdict.verdict === 'Waiting'))
    const hasOrphans = grants.some((g) => g.state === 'Orphaned')
    this.#watchesFleet = isWaiting || hasOrphans
    // A lease that is over already ends within this cycle or waits for a write that failed.
    const lease = this.#observer.leases.nextEndMs()
    return Math.min(
      isWaiting ? WAITING_MS : Infinity,
      hasOrphans ? ORPHAN_MS : Infinity,
      lease === undefined ? Infinity : Math.max(lease, BATCH_MS + 1),
      spec === undefined || grants.length === 0 ? IDLE_MS : IDLE_MS / 10,
    )
  }
}

const metadataOf = (current: unknown) =>
  current === undefined ? {} : { metadata: (current as ReturnType<typeof emptyLedger>).metadata }

function isOutdated(old: PermitStatus | undefined, wanted: PermitStatus): boolean {
  const seen = (s: PermitStatus | undefined) => (s?.verdicts ?? []).map((v) => v.seen).join('\n')
  return seen(old) !== seen(wanted)
}

function approvalsOf({ spec }: OperationPermit, { policies, approvals, wall }: Snapshot): readonly string[] {
  const rules = policies.flatMap((p) => p.spec.approvals ?? [])
  return (approvalNeed(rules, spec, approvals, wall)?.counted ?? []).slice(0, 8)
}

function isOver(permit: OperationPermit, now: number): boolean {
  const { status } = permit
  if (status === undefined || phaseOf(permit) === 'Requested' || phaseOf(permit) === 'Granted') return false
  const ended = Date.parse(status.endedAt ?? status.decidedAt ?? '')
  return now - ended >= KEEP_ENDED_MS
}
