// Which pipelines and clusters bind a commit, and which clusters a stage has, as sync finds them. Pure.
import { API_GROUP, type ApiKind } from '#api/kind.ts'
import { type Cluster, cluster } from '#api/kinds/cluster.ts'
import { type ReleasePipeline, releasePipeline } from '#api/kinds/release-pipeline.ts'
import { HUB_TARGET, LABELS } from '#api/names.ts'
import type { Targets } from '#delivery/desired.ts'
import { matchesLabels } from '#kube/selector.ts'
import { applyDefaults } from '#schema/default.ts'

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

/** As they are before the commit: it can neither drop its own gates nor move a cluster past them. What it adds counts as it adds it. */
export function bindingHub(before: Targets, after: Targets): BindingHub {
  const old = onHub(releasePipeline, before) as readonly ReleasePipeline[]
  const earlier = onHub(cluster, before) as readonly Cluster[]
  const names = new Set(earlier.map((c) => c.metadata.name))
  const added = (onHub(cluster, after) as readonly Cluster[]).filter((c) => !names.has(c.metadata.name))
  return {
    pipelines: old.length > 0 ? old : (onHub(releasePipeline, after) as readonly ReleasePipeline[]),
    clusters: [...earlier, ...added],
  }
}

const onHub = (kind: ApiKind, targets: Targets): readonly unknown[] =>
  (targets.get(HUB_TARGET)?.objects ?? [])
    .filter(({ ref }) => ref.group === API_GROUP && ref.kind === kind.kind)
    .map(({ object }) => applyDefaults(kind.schema, object))

/** The hub has its Cluster. */
export const isMember = (name: string, targets: Targets): boolean =>
  (targets.get(HUB_TARGET)?.objects ?? []).some(
    ({ ref }) => ref.group === API_GROUP && ref.kind === cluster.kind && ref.name === name,
  )
