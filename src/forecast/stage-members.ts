// Which pipelines and clusters apply to a commit, and which clusters a stage has, by sync's rules. Pure.
import { type Cluster, cluster } from '#api/kinds/cluster.ts'
import { type ReleasePipeline, releasePipeline } from '#api/kinds/release-pipeline.ts'
import { LABELS } from '#api/names.ts'
import { declaredOnHub, isDeclaredOnHub } from '#delivery/declared-on-hub.ts'
import type { Targets } from '#delivery/desired.ts'
import { matchesLabels } from '#kube/selector.ts'

export type Stage = ReleasePipeline['spec']['stages'][number]

/** Sync labels a Cluster with its stage. */
export function isInStage({ clusters: { names, selector } }: Stage, { metadata, spec }: Cluster): boolean {
  const labels = { ...(spec.stage === undefined ? {} : { [LABELS.stage]: spec.stage }), ...metadata.labels }
  return names?.includes(metadata.name ?? '') ?? (selector !== undefined && matchesLabels(selector, labels))
}

export interface BindingHub {
  readonly pipelines: readonly ReleasePipeline[]
  readonly clusters: readonly Cluster[]
}

/** Their state before the commit, which can neither drop its own gates nor move a cluster past them. New ones count as the commit adds them. */
export function bindingHub(before: Targets, after: Targets): BindingHub {
  const old = declaredOnHub(releasePipeline, before)
  const earlier = declaredOnHub(cluster, before)
  const names = new Set(earlier.map((c) => c.metadata.name))
  const added = declaredOnHub(cluster, after).filter((c) => !names.has(c.metadata.name))
  return {
    pipelines: old.length > 0 ? old : declaredOnHub(releasePipeline, after),
    clusters: [...earlier, ...added],
  }
}

/** True if the hub has its Cluster. */
export const isMember = (name: string, targets: Targets): boolean => isDeclaredOnHub(cluster, name, targets)
