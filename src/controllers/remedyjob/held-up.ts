// Decides what becomes of the permit of a repair that may not begin: it keeps nobody else waiting. The slot is given back, and asked for anew, under
// another name, once the repair may go on.
import type { OperationPermit } from '#api/kinds/operation-permit.ts'
import type { RemedyOperationJob } from '#api/kinds/remedy-operation-job.ts'
import { isRenewalDue } from '#permits/permits.ts'
import type { JobPlan } from './actions.ts'
import { type Seen, nameOf } from './seen.ts'

/** A grant is looked at so often, so that it goes back and does not run out: a slot whose lease ran out stays taken until the node is well. */
const LOOK_AGAIN_MS = 15_000

/** What holds it up may be over in a moment: the slot goes back where others would renew it. */
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

/** Given back, run out or taken back before anything was begun under it; nobody said no. */
export const hasLapsed = ({ spec, status }: OperationPermit, target: string): boolean =>
  spec.targets.some((t) => t.uid === target) &&
  (LAPSED.has(status?.phase ?? 'Requested') || spec.results?.[target] === 'Released')

/** The permit that the job speaks of; a permit by that name alone is its. */
export const permitName = (job: RemedyOperationJob): string => job.status?.permitRef ?? nameOf(job)

/** The name of the one after it: asking twice is asking once. */
export function nextPermitName(job: RemedyOperationJob): string {
  const count = /^-p(\d+)$/.exec(permitName(job).slice(nameOf(job).length))?.[1]
  return `${nameOf(job)}-p${Number(count ?? 1) + 1}`
}
