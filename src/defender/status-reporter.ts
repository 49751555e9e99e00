// Writes decisions into the statuses of permits and policies. They are already in the ledger, so a failed status write is retried in the next cycle.
import { inParallel } from '#lib/pool.ts'
import { type DefenderPolicy, defenderPolicy } from '#api/kinds/defender-policy.ts'
import type { LedgerSpec } from '#api/kinds/defender-ledger.ts'
import { operationPermit, type PermitStatus } from '#api/kinds/operation-permit.ts'
import { FIELD_MANAGERS } from '#api/names.ts'
import type { Clock } from '#lib/clock.ts'
import type { Logger } from '#lib/log.ts'
import type { KubeClient } from '#kube/client.ts'
import type { KubeObject } from '#api/schema/object.ts'
import { writeStatus } from '#runtime/write-status.ts'
import { usedApprovals } from './gates/approval.ts'
import type { Caches } from './caches.ts'
import { DecisionCounts } from './decision-counts.ts'
import type { LeaseWatch } from './lease-watch.ts'
import type { DefenderMetrics } from './metrics.ts'
import { type Decision, type PermitDecision, isReported } from './plan.ts'
import { policyStatus } from './policy-status.ts'
import type { Snapshot } from './snapshot.ts'
import { isWorthWriting, permitStatus } from './status.ts'
import { uidOf } from '#api/schema/object-meta.ts'
import type { TargetDecision } from './target-decision.ts'

const fieldManager = FIELD_MANAGERS.defender
/** Concurrent permit writes. The server has other work. */
const WRITES_AT_ONCE = 16
/** `seen` of a waiting permit is updated at most this often. */
const REFRESH_MS = 30_000

export interface StatusReporterOptions {
  readonly client: KubeClient
  readonly caches: Caches
  readonly clock: Clock
  readonly log: Logger
  readonly leases: LeaseWatch
  readonly metrics?: DefenderMetrics | undefined
  readonly mayWrite: () => boolean
}

/** Keeps the gates' verdicts of a grant whose status write failed. The next cycle finds the grant in the ledger, which has no texts, but the permit must show them. */
export class PendingVerdicts {
  readonly #gates = new Map<string, ReadonlyMap<string, TargetDecision['gates']>>()

  note({ permit, targets }: PermitDecision): void {
    const spoken = targets.filter((t) => t.verdict.verdict === 'Granted' && t.gates.length > 0)
    if (spoken.length > 0) this.#gates.set(uidOf(permit), new Map(spoken.map((t) => [t.target, t.gates])))
  }

  /** The decision with its verdict texts restored. */
  complete(decision: PermitDecision): PermitDecision {
    const known = this.#gates.get(uidOf(decision.permit))
    if (known === undefined) return decision
    const targets = decision.targets.map((t) => ({
      ...t,
      gates: t.gates.length > 0 || t.verdict.verdict !== 'Granted' ? t.gates : (known.get(t.target) ?? []),
    }))
    return { ...decision, targets }
  }

  forget(uid: string): void {
    this.#gates.delete(uid)
  }
}

export class StatusReporter {
  readonly #options: StatusReporterOptions
  readonly #decisions = new DecisionCounts()
  readonly #pendingVerdicts = new PendingVerdicts()
  /** By UID: the time of our last write. */
  readonly #writtenAt = new Map<string, number>()

  constructor(options: StatusReporterOptions) {
    this.#options = options
  }

  forget({ metadata }: KubeObject): void {
    this.#writtenAt.delete(metadata.uid ?? '')
    this.#pendingVerdicts.forget(metadata.uid ?? '')
  }

  /** Grants are written before waits and denials. Returns whether all writes succeeded. */
  async report({ permits }: Decision, snapshot: Snapshot, now: number): Promise<boolean> {
    const news = permits.filter((p) => !isReported(p))
    const isGrant = (p: PermitDecision) => p.phase === 'Granted'
    const inTurn = [...news.filter(isGrant), ...news.filter((p) => !isGrant(p))]
    let isWritten = true
    await inParallel(inTurn, WRITES_AT_ONCE, async (decision) => {
      if (!(await this.#reportOne(decision, snapshot, now))) isWritten = false
    })
    this.#decisions.observe(permits, this.#options.clock.monotonic())
    return isWritten
  }

  async #reportOne(decided: PermitDecision, snapshot: Snapshot, now: number): Promise<boolean> {
    const { client, caches, clock, log, leases, mayWrite } = this.#options
    const decision = this.#pendingVerdicts.complete(decided)
    const { permit } = decision
    const { uid = '' } = permit.metadata
    if (!mayWrite()) return true
    const left = leases.left(uid) ?? permit.spec.leaseSeconds * 1_000
    const wanted = permitStatus(decision, usedApprovals(permit, snapshot), { now, expiresAt: now + left })
    const isDue = clock.monotonic() - (this.#writtenAt.get(uid) ?? -Infinity) >= REFRESH_MS
    if (!isWorthWriting(permit, wanted) && !(isDue && isOutdated(permit.status, wanted))) return true
    const own = { client, type: operationPermit, cache: caches.permits, fieldManager }
    const outcome = await writeStatus({ ...own, object: permit, status: wanted })
    if (outcome === undefined) return true
    if (outcome.kind === 'Applied') {
      this.#writtenAt.set(uid, clock.monotonic())
      this.#pendingVerdicts.forget(uid)
      this.#options.metrics?.decided(decision)
      return true
    }
    // The permit's next event, or the next cycle, retries: the grant is in the ledger.
    this.#pendingVerdicts.note(decision)
    if (outcome.kind !== 'Stale')
      log.info('cannot update the status of a permit', { permit: permit.metadata.name, reason: outcome.kind })
    return false
  }

  /** Policies report whether they are valid. Returns whether all writes succeeded. */
  async explain({ policies, fleet }: Snapshot, ledger: LedgerSpec | undefined, now: number): Promise<boolean> {
    const { client, caches, clock, mayWrite } = this.#options
    let isWritten = true
    for (const compiled of policies) {
      const policy: DefenderPolicy | undefined = caches.policies.get(compiled.name)
      const uid = policy?.metadata.uid ?? ''
      if (policy === undefined || !mayWrite()) continue
      const at = clock.monotonic()
      const decisions = this.#decisions.of(compiled.name, at)
      const sinceMs = at - (this.#writtenAt.get(uid) ?? -Infinity)
      const status = policyStatus({ policy, compiled, ledger, fleet, now, decisions, sinceMs })
      if (status === undefined) continue
      const own = { client, type: defenderPolicy, cache: caches.policies, fieldManager }
      const outcome = await writeStatus({ ...own, object: policy, status })
      if (outcome === undefined) continue
      if (outcome.kind === 'Applied') this.#writtenAt.set(uid, clock.monotonic())
      else isWritten = false
    }
    return isWritten
  }
}

function isOutdated(old: PermitStatus | undefined, wanted: PermitStatus): boolean {
  const seen = (s: PermitStatus | undefined) => (s?.verdicts ?? []).map((v) => v.seen).join('\n')
  return seen(old) !== seen(wanted)
}
