// What a Release says of a Cluster counts for that very Cluster: one that was deleted and made again under its name has nothing of it. Pure.
import type { Release } from '#api/kinds/release.ts'

/** By name, the UID of the Cluster on the hub now. */
export type LiveUid = (cluster: string) => string | undefined

/** With the entries of earlier Clusters as those of clusters that the Release has not reached. */
export function ofLiveClusters(release: Release, liveUid: LiveUid): Release {
  const clusters = release.status?.clusters ?? []
  const isOther = ({ name, uid }: (typeof clusters)[number]): boolean => {
    const live = liveUid(name)
    return uid !== undefined && live !== undefined && live !== uid
  }
  if (!clusters.some(isOther)) return release
  const waiting = clusters.map((c) =>
    isOther(c) ? { name: c.name, stage: c.stage, phase: 'Waiting' as const, since: c.since } : c,
  )
  return { ...release, status: { ...release.status, clusters: waiting } }
}
