// Finds the clusters that change or are about to, from the Releases on the hub and the evidence of the clusters. Pure.
import type { Cluster } from '#api/kinds/cluster.ts'
import type { Release } from '#api/kinds/release.ts'
import { HUB_TARGET } from '#api/names.ts'
import { namespacedName } from '#api/schema/object-meta.ts'
import { byCodeUnit } from '#lib/go-text.ts'
import { isAtWork } from '../release/cluster-phase.ts'
import { isPlaneChanging } from '../release/plane-state.ts'
import type { Evidences } from './stops.ts'
import type { Need } from './turns.ts'

export interface NeedsSeen {
  readonly releases: readonly Release[]
  readonly clusters: readonly Cluster[]
  readonly evidences: Evidences
}

export function needsOf({ releases, clusters, evidences }: NeedsSeen): ReadonlyMap<string, Need> {
  const changing = new Set<string>()
  const asking: { readonly cluster: string; readonly since: string }[] = []
  // A newer Release has replaced it, even if its status is still open.
  const replaced = new Set(releases.map(({ metadata, spec }) => `${metadata.namespace ?? ''}/${spec.previous ?? ''}`))
  for (const release of releases) {
    const { metadata, status } = release
    if (replaced.has(namespacedName(release)) || status?.phase === 'Superseded') continue
    for (const c of status?.clusters ?? []) {
      if (c.name === HUB_TARGET) continue
      const cluster = `${metadata.namespace ?? ''}/${c.name}`
      if (isAtWork(c)) changing.add(cluster)
      if (c.waitingFor?.predicate === 'FleetBudget') asking.push({ cluster, since: c.waitingFor.since })
    }
  }
  for (const cluster of clusters) if (isPlaneChanging(cluster.status)) changing.add(namespacedName(cluster))
  for (const [cluster, evidence] of evidences) {
    if (cluster === HUB_TARGET || evidence === undefined) continue
    if (evidence.openSlices > 0) changing.add(cluster)
    // Machines that a finished Release did not reach have waited longest.
    else if (evidence.waitingSlices > 0) asking.unshift({ cluster, since: '' })
  }
  const ordered = asking.toSorted((a, b) => byCodeUnit(a.since, b.since) || byCodeUnit(a.cluster, b.cluster))
  return new Map<string, Need>([
    ...[...changing].toSorted().map((cluster) => [cluster, 'Changes'] as const),
    ...ordered.flatMap(({ cluster }) => (changing.has(cluster) ? [] : [[cluster, 'Begins'] as const])),
  ])
}
