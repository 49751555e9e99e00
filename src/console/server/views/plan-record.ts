// What hubs recorded of a commit: its Releases, the clusters each changes, and deletions that wait for an approval. Pure.
import type { Release } from '#api/kinds/release.ts'
import { keyText, namespacedName } from '#api/schema/object-meta.ts'
import { deletionText } from '#explain/release/status.ts'
import type { PlanRecord, RedLine } from '../../plan.ts'
import type { ClusterState } from '../cluster-cache.ts'
import { approvalCommand } from '../writes.ts'
import { given, pageText } from './parts.ts'
import { releaseName } from './pipeline.ts'

/** A commit has one Release per track. */
const MOST_RECORDS = 64

/** `commit`: full, or a prefix. */
export function planRecords(hubs: readonly ClusterState[], commit: string): readonly PlanRecord[] {
  return hubs.flatMap((hub) => {
    const all = hub.list('releases')
    const byName = new Map(all.map((r) => [namespacedName(r), r]))
    return all
      .filter((r) => r.spec.commit.startsWith(commit))
      .slice(0, MOST_RECORDS)
      .map((r) =>
        recordOf(hub, r, byName.get(keyText({ namespace: r.metadata.namespace, name: r.spec.previous ?? '' }))),
      )
  })
}

function recordOf(hub: ClusterState, release: Release, previous: Release | undefined): PlanRecord {
  const { spec, status } = release
  const changed = changedClusters(release, previous)
  return {
    object: releaseName(hub.name, release),
    source: spec.source,
    track: spec.track,
    phase: status?.phase ?? 'Pending',
    ...given('after', spec.after),
    ...given('changed', changed),
    clusters: Object.keys(spec.digests).length,
    deletions: (status?.clusters ?? []).flatMap(({ name, prune }) =>
      prune === undefined ? [] : [deletion(hub, release, name, prune)],
    ),
  }
}

/** Undefined if there is nothing left to compare with. The first Release of a track changes every cluster. */
export function changedClusters({ spec }: Release, previous: Release | undefined): readonly string[] | undefined {
  const names = Object.keys(spec.digests).toSorted()
  if (spec.previous === undefined) return names
  if (previous === undefined) return undefined
  const removed = Object.keys(previous.spec.digests).filter((name) => !(name in spec.digests))
  return [...names.filter((name) => spec.digests[name] !== previous.spec.digests[name]), ...removed].toSorted()
}

type Prune = NonNullable<NonNullable<NonNullable<Release['status']>['clusters']>[number]['prune']>

const deletion = (hub: ClusterState, { metadata }: Release, cluster: string, prune: Prune): RedLine => ({
  text: pageText(deletionText(cluster, prune)),
  ...(prune.permit === undefined && { command: approvalCommand('release', metadata.name ?? '', 'WHY', hub.name) }),
})
