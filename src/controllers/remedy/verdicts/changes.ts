// Whether a change of a Node or a Machine can change the result of a rule. Ten thousand heartbeats must not each cause a full evaluation.
import { without } from '#lib/without.ts'
import type { RemedyOperationJob } from '#api/kinds/remedy-operation-job.ts'
import { isObject, jsonEqual } from '#lib/json.ts'
import type { Condition, KubeObject } from '#api/schema/object.ts'

interface Reported extends KubeObject {
  readonly spec?: unknown
  readonly status?: { readonly conditions?: readonly Condition[] }
}

/** `Later`: no decision waits for it, but the status of a rule may change. A burst of a thousand repairs causes thousands of these. */
export type News = 'Now' | 'Later' | undefined

/** `speaksOfMarks`: some rule reads taints or annotations, which each of our cordons changes. */
export function newsOf(before: Reported | undefined, now: Reported | undefined, speaksOfMarks: boolean): News {
  if (before === undefined || now === undefined) return 'Now'
  if (!jsonEqual(essence(before), essence(now))) return 'Now'
  return jsonEqual(marks(before), marks(now)) ? undefined : speaksOfMarks ? 'Now' : 'Later'
}

function essence({ metadata: { uid, labels, deletionTimestamp }, spec, status }: Reported): unknown {
  const conditions = status?.conditions?.map((c) => ({ ...c, lastHeartbeatTime: undefined }))
  const plain = without(isObject(spec) ? spec : {}, 'taints', 'jobs')
  return { uid, labels, deletionTimestamp, spec: plain, status: { ...status, conditions } }
}

/** Rules cannot read which jobs a Machine lists. */
const marks = ({ metadata: { annotations }, spec }: Reported): unknown => ({
  annotations,
  taints: isObject(spec) ? spec['taints'] : undefined,
})

/** Of a repair's progress, only its end and people's requests change decisions here. Who created it and when it started are counted. */
export function newsOfJob(before: RemedyOperationJob | undefined, now: RemedyOperationJob | undefined): News {
  if (now === undefined) return 'Now'
  if (before === undefined) return now.status?.phase === 'Done' ? 'Now' : 'Later'
  if (jsonEqual(essenceOfJob(before), essenceOfJob(now))) return undefined
  return jsonEqual(comparedPart(before), comparedPart(now)) && now.status?.phase !== 'Done' ? 'Later' : 'Now'
}

const comparedPart = ({ metadata: { uid, annotations, deletionTimestamp }, spec }: RemedyOperationJob): unknown => ({
  uid,
  annotations,
  deletionTimestamp,
  spec,
})

function essenceOfJob({ metadata, spec, status }: RemedyOperationJob): unknown {
  const { uid, annotations, deletionTimestamp } = metadata
  const { phase, outcome, startedAt, finishedAt } = status ?? {}
  const part = phase === 'Running' || phase === 'Verifying' ? 'AtWork' : phase === 'Done' ? 'Done' : 'Waiting'
  return { uid, annotations, deletionTimestamp, spec, part, outcome, startedAt, finishedAt }
}
