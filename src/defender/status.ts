// The desired status of a permit after a decision. Pure; equal decisions give equal statuses, so that nothing is written twice.
import type { Approval } from '#api/kinds/approval.ts'
import type { OperationPermit, PermitStatus } from '#api/kinds/operation-permit.ts'
import { timestamp } from '#lib/clock.ts'
import { defined } from '#lib/defined.ts'
import { jsonEqual } from '#lib/json.ts'
import { type WantedCondition, setCondition } from '#kube/conditions.ts'
import type { GateVerdict } from './gate.ts'
import { phaseOf } from './permit-phase.ts'
import type { PermitDecision } from './plan.ts'

type Verdict = NonNullable<PermitStatus['verdicts']>[number]

const entryOf = (target: string, { reason, ...rest }: GateVerdict): Verdict => ({
  target,
  ...rest,
  ...(rest.verdict !== 'Granted' && { reason }),
})

export interface StatusTimes {
  /** The Defender's time. */
  readonly now: number
  /** When the lease expires, in the same time. */
  readonly expiresAt: number | undefined
}

export function permitStatus(
  { permit, phase, targets, alternates }: PermitDecision,
  approvals: readonly Approval[],
  { now, expiresAt }: StatusTimes,
): PermitStatus {
  const old = permit.status
  const isDecided = phase !== 'Requested'
  const isEnded = isDecided && phase !== 'Granted'
  const refused = alternates?.map(({ target, verdict }) => entryOf(target, verdict)) ?? old?.refusedAlternates
  const granted = targets.filter((t) => t.verdict.verdict === 'Granted').length
  return {
    ...defined({ observedGeneration: permit.metadata.generation }),
    phase,
    ...(isDecided && { decidedAt: old?.decidedAt ?? timestamp(now) }),
    ...(phase === 'Granted' && expiresAt !== undefined && { expiresAt: timestamp(expiresAt) }),
    ...(isEnded && { endedAt: old?.endedAt ?? timestamp(now) }),
    granted,
    verdicts: targets.map(({ target, verdict }) => entryOf(target, verdict)),
    gates: targets.flatMap(({ target, gates }) => gates.map((g) => entryOf(target, g))),
    ...defined({ refusedAlternates: refused }),
    ...(approvals.length > 0 && {
      approvals: approvals.map((a) => a.metadata.name ?? ''),
      approvedBy: [...new Set(approvals.map((a) => a.spec.by))],
    }),
    conditions: setCondition(old?.conditions, conditionOf({ permit, phase, targets }, granted), now),
  }
}

function conditionOf({ phase, targets }: PermitDecision, granted: number): WantedCondition {
  const type = 'PermitGranted'
  const of = `${granted} of ${targets.length} targets`
  if (phase === 'Granted') return { type, status: 'True', reason: 'PermitGranted', message: `${of} granted` }
  if (phase === 'Expired')
    return { type, status: 'False', reason: 'PermitExpired', message: 'the lease was not renewed' }
  if (phase === 'Revoked') return { type, status: 'False', reason: 'PermitRevoked', message: 'revoked by a hold' }
  if (phase === 'Released') return { type, status: 'False', reason: 'AsDeclared', message: 'all results are reported' }
  const first = targets.find((t) => t.verdict.verdict !== 'Granted')
  const { gate = 'Target', reason = 'PermitRequested', limit, seen } = first?.verdict ?? {}
  // The only limit that frees at a known time, so the message has it.
  if (gate === 'Rate' && seen !== undefined) return { type, status: 'False', reason, message: `rate limit: ${seen}` }
  if (gate === 'Window' && seen !== undefined && limit !== undefined)
    return { type, status: 'False', reason, message: `${seen}; ${limit}` }
  return { type, status: 'False', reason, message: `gate ${gate}${limit === undefined ? '' : `: ${limit}`}` }
}

/** Observed counts and the next retry change all the time. That alone is no reason to rewrite a thousand permits. */
export function isWorthWriting(permit: OperationPermit, wanted: PermitStatus): boolean {
  const old = permit.status
  if (old === undefined || phaseOf(permit) !== wanted.phase) return true
  return !jsonEqual(essence(old), essence(wanted))
}

const essence = ({
  phase,
  granted,
  verdicts = [],
  gates = [],
  refusedAlternates = [],
  approvals,
}: PermitStatus): unknown => ({
  phase,
  granted,
  approvals,
  verdicts: verdicts.map(bare),
  gates: gates.map(bare),
  refusedAlternates: refusedAlternates.map(bare),
})

const bare = ({ seen: _seen, retryAfter: _retryAfter, ...rest }: Verdict) => rest
