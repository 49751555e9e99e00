// Decides what happens to the permit of a repair that may not begin: it must not block other repairs. The slot is released, and requested again under another
// name once the repair may continue.
import type { OperationPermit } from '#api/kinds/operation-permit.ts'
import type { RemedyOperationJob } from '#api/kinds/remedy-operation-job.ts'
import { isRenewalDue } from '#permits/permits.ts'
import type { JobPlan } from './actions.ts'
import { type Seen, nameOf } from './seen.ts'

/** A grant is checked this often, so that it is released before it expires: a slot with an expired lease stays taken until the node is healthy. */
const LOOK_AGAIN_MS = 15_000

/** The block may end soon, so the slot is released only when its lease would be due for renewal. */
export function heldUp(seen: Seen, now: number, planned: JobPlan): JobPlan {
  const { permit } = seen
  const target = permit?.spec.targets[0]?.uid
  if (permit?.status?.phase !== 'Granted' || target === undefined || permit.spec.results?.[target] !== undefined)
    return planned
  if (!isRenewalDue(permit, now))
    return { ...planned, requeueAfter: Math.min(planned.requeueAfter ?? LOOK_AGAIN_MS, LOOK_AGAIN_MS) }
  if (!seen.isFresh) return { actions: [], needsFresh: true }
  const reason = `blocked: ${planned.waiting?.seen ?? 'unknown reason'}`
  return { ...planned, actions: [{ kind: 'ReportResult', reason, permit, target, result: 'Released' }] }
}

const LAPSED: ReadonlySet<string> = new Set(['Released', 'Expired', 'Revoked'])

/** Released, expired, revoked or dropped before any step began under it; no policy refused it. */
export const hasLapsed = (permit: OperationPermit, target: string): boolean => {
  const { spec, status } = permit
  return (
    spec.targets.some((t) => t.uid === target) &&
    (LAPSED.has(status?.phase ?? 'Requested') || spec.results?.[target] === 'Released' || isDropped(permit, target))
  )
}

/**
 * It waited while the breaker was open. The Defender wants such repairs to be requested again if they are still needed, which the job knows: to end it would
 * let a node wait for a cooldown although nothing was done to it.
 */
const isDropped = ({ status }: OperationPermit, target: string): boolean =>
  status?.phase === 'Denied' &&
  status.verdicts?.find((v) => v.target === target && v.verdict === 'Denied')?.reason === 'BreakerHalfOpen'

/** The permit named by the job; no other permit belongs to it. */
export const permitName = (job: RemedyOperationJob): string => job.status?.permitRef ?? nameOf(job)

/** The name of the one after it: asking twice is asking once. */
export function nextPermitName(job: RemedyOperationJob): string {
  const count = /^-p(\d+)$/.exec(permitName(job).slice(nameOf(job).length))?.[1]
  return `${nameOf(job)}-p${Number(count ?? 1) + 1}`
}
