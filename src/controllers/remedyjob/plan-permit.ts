// The permit of a repair: which one counts, when to request another, and when to free its slot because the repair may not start. Pure.
import type { OperationPermit } from '#api/kinds/operation-permit.ts'
import { type RemedyOperationJob, remedyOperationJob } from '#api/kinds/remedy-operation-job.ts'
import { FIELD_MANAGERS } from '#api/names.ts'
import { nameOf } from '#api/schema/object-meta.ts'
import { defined } from '#lib/defined.ts'
import { shortened } from '#lib/shortened.ts'
import { type Holding, type Need, holdPermit, reportOf } from '#permits/holder.ts'
import { LEASES } from '#permits/leases.ts'
import { nextPermitName, ofObject } from '#permits/permit-names.ts'
import { isForAny } from '#api/protocol/permit-allows.ts'
import { rulePart } from '#api/protocol/part.ts'
import { isRenewalDue, permitAnswer, requesterOf } from '#permits/permits.ts'
import { MOST_SENTENCE_CHARS } from '#runtime/waiting.ts'
import type { JobPlan, PermitTarget } from './actions.ts'
import { componentOf, disruptionsOf } from './steps/operations.ts'
import { type Seen, phaseOf } from './seen.ts'

/** A refusal ends a job. Its ladder decides what comes next. */
export type JobPermit = Holding | { readonly kind: 'Refused'; readonly seen: string }

/** The permit that the job names. No other permit belongs to it. */
export const permitName = (job: RemedyOperationJob): string => job.status?.permitRef ?? nameOf(job)

/** A job never delays a repeated request: other checks block a job that may not start. */
export function permitOf({ job, permit }: Seen, target: PermitTarget): JobPermit {
  const name = permitName(job)
  const current = permit !== undefined && nameOf(permit) === name ? permit : undefined
  const answer = permitAnswer(current, target.uid)
  // A cache may show a finished job as just started. No other permit is requested for it.
  const useless =
    current === undefined || phaseOf(job) === 'Pending'
      ? undefined
      : isForeign(current, job)
        ? 'the name was taken'
        : hasLapsed(current, target.uid)
          ? 'the last permit ended'
          : undefined
  if (answer.kind === 'Ended' && useless === undefined) return { kind: 'Refused', seen: answer.seen }
  const need: Need = {
    permit: useless === undefined ? name : nextPermitName(ofObject(nameOf(job)), [name]),
    reason: phaseOf(job) === 'Pending' ? 'the fault is present' : (useless ?? 'no permit exists'),
    request: requestFor(job, target),
  }
  return holdPermit(need, { own: current === undefined || useless !== undefined ? [] : [current], endedFor: new Map() })
}

/** Another program uses the name for something else. The same name again would always find that permit, and its slot is not ours to free. */
export function isForeign(permit: OperationPermit, job: RemedyOperationJob): boolean {
  const wanted = disruptionsOf(job)
  return wanted.length > 0 && !isForAny(permit, wanted)
}

export function requestFor(job: RemedyOperationJob, target: PermitTarget): Need['request'] {
  const { node, remedierRef, rung, commit } = job.spec
  return {
    operations: disruptionsOf(job),
    targets: [target],
    requester: {
      ...requesterOf(FIELD_MANAGERS.remedyJob, remedyOperationJob.kind, job),
      ...defined({ part: rulePart(remedierRef.name) }),
    },
    reason: shortened(`repair of ${node.name} by rule ${remedierRef.name}, rung ${rung}`, MOST_SENTENCE_CHARS),
    leaseSeconds: LEASES.renewed,
    ...defined({ component: componentOf(job), commit }),
  }
}

const LAPSED: ReadonlySet<string> = new Set(['Released', 'Expired', 'Revoked'])

/** Released, expired, revoked or dropped before any step started under it. No policy refused it. */
const hasLapsed = (permit: OperationPermit, target: string): boolean => {
  const { spec, status } = permit
  return (
    spec.targets.some((t) => t.uid === target) &&
    (LAPSED.has(status?.phase ?? 'Requested') || spec.results?.[target] === 'Released' || isDropped(permit, target))
  )
}

/**
 * It waited while the breaker was open. The Defender wants such repairs to be requested again if still needed, which the job knows. Ending the job
 * would make a node wait for a cooldown although nothing was done to it.
 */
const isDropped = ({ status }: OperationPermit, target: string): boolean =>
  status?.phase === 'Denied' &&
  status.verdicts?.find((v) => v.target === target && v.verdict === 'Denied')?.reason === 'BreakerHalfOpen'

/** How often a grant is checked, so that it is released before it expires: a slot with an expired lease stays taken until the node is healthy. */
const REQUEUE_MS = 15_000

/** A repair that may not start must not block others. But the block may end soon, so the slot is released only when its lease is due for renewal. */
export function heldUp(seen: Seen, now: number, planned: JobPlan): JobPlan {
  const { permit } = seen
  if (permit?.status?.phase !== 'Granted' || isForeign(permit, seen.job)) return planned
  const why = `blocked: ${planned.waiting?.seen ?? 'unknown reason'}`
  const release = reportOf(permit, permit.spec.targets[0]?.uid ?? '', 'Released', why)
  if (release.length === 0) return planned
  if (!isRenewalDue(permit, now))
    return { ...planned, requeueAfter: Math.min(planned.requeueAfter ?? REQUEUE_MS, REQUEUE_MS) }
  return seen.isFresh ? { ...planned, actions: release } : { actions: [], needsFresh: true }
}
