// Whether a change of a Node or a Machine can change what a rule says about it: ten thousand heartbeats must not each mean a look at everything.
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
