// Whether a change of a Node or a Machine can change what a rule says about it: ten thousand heartbeats must not each mean a look at everything.
import type { RemedyOperationJob } from '#api/kinds/remedy-operation-job.ts'
import { jsonEqual } from '#lib/json.ts'
import type { Condition, KubeObject } from '#schema/object.ts'

interface Reported extends KubeObject {
  readonly spec?: unknown
  readonly status?: { readonly conditions?: readonly Condition[] }
}

export function isNews(before: Reported | undefined, now: Reported | undefined): boolean {
  if (before === undefined || now === undefined) return true
  return !jsonEqual(essence(before), essence(now))
}

function essence({ metadata: { uid, labels, annotations, deletionTimestamp }, spec, status }: Reported): unknown {
  const conditions = status?.conditions?.map((c) => ({ ...c, lastHeartbeatTime: undefined }))
  return { uid, labels, annotations, deletionTimestamp, spec, status: { ...status, conditions } }
}

/** Of what a repair goes through only its beginning, its end and what people say of it lead to other decisions here. */
export function isNewsOfJob(before: RemedyOperationJob | undefined, now: RemedyOperationJob | undefined): boolean {
  if (before === undefined || now === undefined) return true
  return !jsonEqual(essenceOfJob(before), essenceOfJob(now))
}

function essenceOfJob({ metadata, spec, status }: RemedyOperationJob): unknown {
  const { uid, annotations, deletionTimestamp } = metadata
  const { phase, outcome, startedAt, finishedAt } = status ?? {}
  const part = phase === 'Running' || phase === 'Verifying' ? 'AtWork' : phase === 'Done' ? 'Done' : 'Waiting'
  return { uid, annotations, deletionTimestamp, spec, part, outcome, startedAt, finishedAt }
}
