// What repairs were worth: outcomes, needless ones, those whose fault came back, and what they waited for. Pure.
import type { RemedyOperationJob } from '#api/kinds/remedy-operation-job.ts'
import type { OperationPermit } from '#api/kinds/operation-permit.ts'

export const ruleOf = ({ spec }: RemedyOperationJob): string => spec.remedierRef.name
export const isDone = ({ status }: RemedyOperationJob): boolean => status?.phase === 'Done'
const hasSucceeded = ({ status }: RemedyOperationJob): boolean =>
  status?.phase === 'Done' && status.outcome === 'Succeeded'

/** Steps that prepare the one that a repair is for. */
const PREPARES: ReadonlySet<string> = new Set([
  'collectEvidence',
  'cordon',
  'isolateDevice',
  'uncordon',
  'drain',
  'webhook',
  'reportFault',
])

/** The operation that a repair is for: the last one that is no preparation. */
export function operationOf({ spec }: RemedyOperationJob): string {
  const names = spec.operations.flatMap((o) => Object.keys(o).slice(0, 1))
  return names.findLast((name) => !PREPARES.has(name)) ?? names.at(-1) ?? 'none'
}

/** The fault ended by itself before the first step. */
export const isNeedless = ({ status }: RemedyOperationJob): boolean =>
  status?.phase === 'Done' &&
  status.outcome === 'Superseded' &&
  status.startedAt === undefined &&
  status.nextJob === undefined

/** A fault that returns within a day was not repaired. */
const RELAPSE_MS = 86_400_000

/** The repair before this one on the same node and by the same rule, if its fault came back too soon. */
export function relapseOf(
  job: RemedyOperationJob,
  others: readonly RemedyOperationJob[],
): RemedyOperationJob | undefined {
  const began = Date.parse(job.metadata.creationTimestamp ?? '')
  // Rungs of one incident follow each other; they are one repair.
  return others.find((o) => {
    const ended = Date.parse(o.status?.finishedAt ?? '')
    const isSame = o.spec.node.uid === job.spec.node.uid && ruleOf(o) === ruleOf(job)
    return (
      isSame && o.spec.incident !== job.spec.incident && hasSucceeded(o) && began >= ended && began - ended < RELAPSE_MS
    )
  })
}

const REPAIR_WAITS = ['permit', 'window', 'drain', 'approval', 'hold'] as const
export type RepairWait = (typeof REPAIR_WAITS)[number]

/** Undefined: it does not wait. */
export function waitOf(job: RemedyOperationJob, permit: OperationPermit | undefined): RepairWait | undefined {
  const { status } = job
  if (status?.waitingFor !== undefined) return 'hold'
  if (status?.phase === 'Running')
    return status.steps?.some((s) => s.operation === 'drain' && s.startedAt !== undefined && s.finishedAt === undefined)
      ? 'drain'
      : undefined
  if (status?.phase !== 'AwaitingPermit') return undefined
  const waiting = permit?.status?.verdicts?.filter((v) => v.verdict !== 'Granted').map((v) => v.gate) ?? []
  if (waiting.includes('Window')) return 'window'
  if (waiting.includes('Approval')) return 'approval'
  return waiting.includes('Hold') ? 'hold' : 'permit'
}
