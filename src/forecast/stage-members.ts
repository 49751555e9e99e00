// Which clusters a stage has, as sync finds them. Pure.
import type { Cluster } from '#api/kinds/cluster.ts'
import type { ReleasePipeline } from '#api/kinds/release-pipeline.ts'
import { LABELS } from '#api/names.ts'
import { matchesLabels } from '#kube/selector.ts'

type Stage = ReleasePipeline['spec']['stages'][number]

/** Sync labels a Cluster with its stage. */
export function isInStage({ clusters: { names, selector } }: Stage, { metadata, spec }: Cluster): boolean {
  const labels = { ...(spec.stage === undefined ? {} : { [LABELS.stage]: spec.stage }), ...metadata.labels }
  return names?.includes(metadata.name ?? '') ?? (selector !== undefined && matchesLabels(selector, labels))
}
