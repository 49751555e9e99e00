// Which stage selects a cluster, by its name and labels. Pure.
import type { Cluster } from '#api/kinds/cluster.ts'
import type { ReleasePipelineSpec } from '#api/kinds/release-pipeline.ts'
import { LABELS } from '#api/names.ts'
import { isOwnLabel } from '#delivery/owned-fields.ts'
import { matchesLabels } from '#kube/selector.ts'

/** The spec has the stage as a field; selectors of stages use labels. */
const labelsOfCluster = ({ metadata, spec }: Pick<Cluster, 'metadata' | 'spec'>): Readonly<Record<string, string>> => ({
  ...(spec.stage !== undefined && { [LABELS.stage]: spec.stage }),
  ...metadata.labels,
})

/** A cluster as the selection of stages sees it. */
export interface Member {
  readonly name: string
  readonly labels: Readonly<Record<string, string>>
}

export const memberOf = (cluster: Pick<Cluster, 'metadata' | 'spec'>): Member => ({
  name: cluster.metadata.name ?? '',
  labels: labelsOfCluster(cluster),
})

/** The index of its stage; -1: it is in none. */
export const stageAt = (stages: ReleasePipelineSpec['stages'], { name, labels }: Member): number =>
  stages.findIndex(
    ({ clusters: { names, selector } }) =>
      names?.includes(name) === true || (selector !== undefined && matchesLabels(selector, labels)),
  )

/** The labels that a live Cluster has once the declared one is applied: those of other writers stay. */
export const labelsAfter = (live: Cluster, declared: Cluster): Readonly<Record<string, string>> => ({
  ...Object.fromEntries(Object.entries(live.metadata.labels ?? {}).filter(([key]) => !isOwnLabel(live, key))),
  ...labelsOfCluster(declared),
})
