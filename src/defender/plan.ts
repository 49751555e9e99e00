// Decides all waiting permits from one snapshot and one ledger: the next ledger, and the desired status of each permit. Pure; equal input gives equal
// output, whatever the order of the permits. A grant counts only once the ledger was swapped.
import type { LedgerSpec } from '#api/kinds/defender-ledger.ts'
import type { OperationPermit, PermitStatus } from '#api/kinds/operation-permit.ts'
import { nextPermitPhase, type PermitPhase } from '#api/protocol/permit.ts'
import { type RefusedAlternate, refusedAlternates } from './alternates.ts'
import { isPresent, latched } from './blame/latch.ts'
import { breakerAt } from './breaker.ts'
import { inheritCounts } from './renamed-policies.ts'
import { type CompiledPolicy, builtinPolicy } from './compile-policy.ts'
import { holdsOn } from './holds.ts'
import { WorkingLedger } from './ledger.ts'
import { Levels } from './levels.ts'
import { isOpen, phaseOf } from './permit-phase.ts'
import type { GateContext } from './question.ts'
import { advanceSlots } from './slots.ts'
import { reservationsOf } from './reservations.ts'
import type { Snapshot } from './snapshot.ts'
import { type TargetDecision, decideTarget, grantFor, held, writtenIn } from './target-decision.ts'
import { defined } from '#lib/defined.ts'

export interface PermitDecision {
  readonly permit: OperationPermit
  readonly phase: PermitPhase
  readonly targets: readonly TargetDecision[]
  /** Computed while the permit waits. Afterwards its status keeps the last result. */
  readonly alternates?: readonly RefusedAlternate[]
}

export interface Decision {
  /** Undefined when the ledger is up to date. */
  readonly ledger: LedgerSpec | undefined
  readonly permits: readonly PermitDecision[]
  /** Milliseconds before which a retry cannot succeed. Undefined if no permit waits for time. */
  readonly retryAfterMs: number | undefined
}

interface DecideOptions {
  /** The Defender's time. */
  readonly now: number
  readonly leader: string
}

export type Decide = (snapshot: Snapshot, before: LedgerSpec | undefined, options: DecideOptions) => Decision

export const decide: Decide = (snapshot, before, { now, leader }) => {
  const ledger = new WorkingLedger(before, now)
  // Before the breakers of deleted policies go.
  inheritCounts(ledger, snapshot.policies)
  advanceBreakers(ledger, snapshot.policies)
  ledger.blames = latched(ledger.blames, snapshot.suspicions, {
    now,
    isPresent: (cohort) => isPresent(snapshot.fleet.units, cohort),
    retried: snapshot.retried,
  })
  const open = snapshot.permits.filter(isOpen)
  if (ledger.isNew) adoptSlots(ledger, open, snapshot)
  advanceSlots(ledger, new Levels(snapshot.fleet, ledger.grants()), snapshot)
  // Counted after slots were freed, so that a freed slot can be granted again in the same swap. Incomplete caches prove nothing, not even that a host
  // is back.
  if (snapshot.unknown === undefined)
    ledger.reservations = reservationsOf(snapshot.maintenance ?? [], ledger.reservations, snapshot.fleet, snapshot.wall)
  if (snapshot.alteredPolicies !== undefined) ledger.alteredPolicies = snapshot.alteredPolicies
  const levels = Levels.booked(snapshot.fleet, ledger.grants(), ledger.reservations)
  const context: GateContext = { snapshot, ledger, levels }
  const permits = inTurn(context, open).map((permit) => decidePermit(permit, context))
  const denied = permits.filter((p) => p.phase === 'Denied' && phaseOf(p.permit) !== 'Denied').length
  if (denied > 0) ledger.add('denied', denied)
  return { ledger: ledger.next(leader), permits, retryAfterMs: soonest(permits) }
}

/**
 * The status already shows the grant, and does not change until its result arrives. Of a thousand running permits, only the changed ones are written.
 */
export function isReported({ permit, phase, targets }: PermitDecision): boolean {
  const { status } = permit
  if (phase !== 'Granted' || status?.phase !== 'Granted') return false
  return targets.every(
    ({ target, verdict }, at) => verdict.verdict === 'Granted' && isGrantReported(status, target, at),
  )
}

/** `at`: where the verdict probably is, since verdicts are written in the order of the targets. */
export function isGrantReported({ verdicts = [] }: PermitStatus, target: string, at = 0): boolean {
  const there = verdicts[at]
  return (there?.target === target ? there : verdicts.find((v) => v.target === target))?.verdict === 'Granted'
}

/** Recoveries first, then reserved work, earliest first, then by request time. Ties go by UID. */
function inTurn({ snapshot, ledger }: GateContext, permits: readonly OperationPermit[]): readonly OperationPermit[] {
  const ranked = permits.map((permit) => {
    const { creationTimestamp = '', uid = '' } = permit.metadata
    const booked = permit.spec.targets.map((t) => ledger.reservationOf(t.uid)).find((r) => r !== undefined)
    const order = isAnyRecovery(snapshot, permit) ? '0' : booked === undefined ? '2' : `1 ${booked.notBefore ?? ''}`
    return { permit, rank: `${order} ${creationTimestamp} ${uid}` }
  })
  return ranked.sort((a, b) => (a.rank < b.rank ? -1 : a.rank > b.rank ? 1 : 0)).map((r) => r.permit)
}

const isAnyRecovery = (snapshot: Snapshot, permit: OperationPermit): boolean =>
  permit.spec.targets.some((t) => snapshot.isRecovery(permit, t.uid))

/** A deleted policy needs no breaker. An open breaker turns half open by time alone. */
function advanceBreakers(ledger: WorkingLedger, policies: readonly CompiledPolicy[]): void {
  const all = [builtinPolicy, ...policies]
  ledger.keepBreakers(new Set(all.map((p) => p.name)))
  for (const { name, spec } of all) {
    const entry = ledger.breaker(name)
    if (entry !== undefined && spec.breaker !== undefined) ledger.setBreaker(breakerAt(entry, spec.breaker, ledger.now))
  }
}

/** The ledger was lost (a user deleted it). Operations that run according to their permits take their slots again. */
function adoptSlots(ledger: WorkingLedger, open: readonly OperationPermit[], snapshot: Snapshot): void {
  for (const permit of open)
    for (const target of permit.spec.targets) {
      const isGranted = permit.status?.verdicts?.find((v) => v.target === target.uid)?.verdict === 'Granted'
      if (phaseOf(permit) !== 'Granted' || !isGranted || permit.spec.results?.[target.uid] !== undefined) continue
      const found = snapshot.fleet.find(target)
      ledger.adopt(grantFor(permit, target, found.kind === 'Found' ? found.unit : undefined, ledger.now))
    }
}

function decidePermit(permit: OperationPermit, context: GateContext): PermitDecision {
  const phase = phaseOf(permit)
  const isRevoked = phase === 'Granted' && isRevocationWanted(permit, context)
  const isExpired = phase === 'Granted' && context.snapshot.leasesOver.has(permit.metadata.uid ?? '')
  const isEnding = isRevoked || isExpired || permit.metadata.deletionTimestamp !== undefined
  const atWork = isEnding ? undefined : decisionAtWork(permit, context.ledger)
  if (atWork !== undefined) return atWork
  const before = writtenIn(permit)
  const targets = permit.spec.targets.map((target) => decideTarget(permit, target, context, { before, isEnding }))
  const alternates = phase === 'Requested' && !isEnding ? refusedAlternates(permit, context) : undefined
  return {
    permit,
    targets,
    phase: nextPhase(permit, targets, { isRevoked, isExpired }),
    ...defined({ alternates }),
  }
}

/** The common case in a burst: each target has its slot, the status shows it, and there is no result yet. Such permits need no decision. */
function decisionAtWork(permit: OperationPermit, ledger: WorkingLedger): PermitDecision | undefined {
  const { status, spec, metadata } = permit
  if (status?.phase !== 'Granted' || spec.results !== undefined) return undefined
  const targets: TargetDecision[] = []
  for (const [at, { uid }] of spec.targets.entries()) {
    const slot = ledger.grantOf(uid, metadata.uid ?? '')
    if (slot?.state !== 'Held' || !isGrantReported(status, uid, at)) return undefined
    targets.push({ target: uid, verdict: held(permit, slot), gates: [] })
  }
  return { permit, phase: 'Granted', targets }
}

/** A freeze revokes grants that are not done. A pause only blocks new operations. */
function isRevocationWanted(permit: OperationPermit, { snapshot, ledger }: GateContext): boolean {
  const { holds, cluster, wall, fleet } = snapshot
  if (holds.length === 0) return false
  return permit.spec.targets.some((target) => {
    const grant = ledger.grantOf(target.uid, permit.metadata.uid ?? '')
    if (grant === undefined) return false
    const found = fleet.find(target)
    const reach = { permit, ...(found.kind === 'Found' && { unit: found.unit }) }
    return holdsOn(holds, ['Freeze', 'Abort'], reach, { cluster, now: wall }).length > 0
  })
}

interface Ends {
  readonly isRevoked: boolean
  readonly isExpired: boolean
}

function nextPhase(
  permit: OperationPermit,
  targets: readonly TargetDecision[],
  { isRevoked, isExpired }: Ends,
): PermitPhase {
  const phase = phaseOf(permit)
  const { results = {} } = permit.spec
  const isGranted = targets.some(
    ({ target, verdict }) => verdict.verdict === 'Granted' && results[target] === undefined,
  )
  const facts = {
    gatesPass: isGranted,
    // The caller must swap the ledger before it uses this decision.
    ledgerSwapped: true,
    refusedForGood: targets.every((t) => t.verdict.verdict === 'Denied'),
    // Waiting targets keep the permit open: their turn comes as slots are freed.
    allResultsIn: targets.every((t) => results[t.target] !== undefined || t.verdict.verdict === 'Denied'),
    leaseExpired: isExpired,
    revocationWanted: isRevoked,
  }
  const events =
    phase === 'Requested' ? (['deny', 'release', 'grant'] as const) : (['release', 'revoke', 'expire'] as const)
  for (const event of events) {
    const step = nextPermitPhase(phase, event, facts)
    if (step.ok) return step.state
  }
  return phase
}

function soonest(permits: readonly PermitDecision[]): number | undefined {
  const waits = permits.flatMap((p) => p.targets).filter((t) => t.verdict.verdict === 'Waiting')
  if (waits.length === 0) return undefined
  return Math.min(...waits.map((t) => (t.verdict.retryAfter ?? Infinity) * 1_000))
}
