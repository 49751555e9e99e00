// A Release's status about a Cluster only counts for that exact Cluster and its content. A Cluster that was deleted and recreated with the same name, or
// restored from a snapshot, has none of it. Pure.
import type { Cluster } from '#api/kinds/cluster.ts'
import type { Release } from '#api/kinds/release.ts'
import { defined } from '#lib/defined.ts'

export interface Content {
  readonly uid?: string
  /** The last restore of its control plane. */
  readonly restored?: string
}

export const contentOf = ({ metadata: { uid }, status }: Cluster): Content =>
  defined({ uid, restored: status?.restored })

/** Resets entries about other content, as if the Release had not reached those clusters. */
export function ofLiveClusters(release: Release, live: (cluster: string) => Cluster | undefined): Release {
  const clusters = release.status?.clusters ?? []
  const isOther = ({ name, uid, restored, since }: (typeof clusters)[number]): boolean => {
    const cluster = live(name)
    if (cluster === undefined) return false
    // An entry from before uids were recorded.
    if (uid === undefined) return Date.parse(since) < Date.parse(cluster.metadata.creationTimestamp ?? '')
    const now = contentOf(cluster)
    return now.uid !== uid || now.restored !== restored
  }
  if (!clusters.some(isOther)) return release
  const waiting = clusters.map((c) =>
    isOther(c) ? { name: c.name, stage: c.stage, phase: 'Waiting' as const, since: c.since } : c,
  )
  return { ...release, status: { ...release.status, clusters: waiting } }
}
