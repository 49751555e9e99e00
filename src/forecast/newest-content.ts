// What each track of a source rolled out last, and from when Approvals of it and of other content count. Pure.
import type { FleetSource } from '#api/kinds/fleet-source.ts'
import type { Release } from '#api/kinds/release.ts'
import { timestamp } from '#lib/clock.ts'
import { chainOf } from '#sync/release/chain.ts'
import { approvedSince } from '#sync/release/release-approvers.ts'
import { targetsDigest } from '#sync/release/tracks.ts'
import type { NewestContent } from './inventory.ts'

/** `releases` are the hub's. */
export function newestContents(
  { metadata, spec }: FleetSource,
  releases: readonly Release[],
): readonly NewestContent[] {
  const own = releases.filter((r) => r.metadata.namespace === metadata.namespace)
  return spec.tracks.flatMap(({ name }) => {
    const chain = chainOf(own, { source: metadata.name ?? '', track: name })
    const last = chain.at(-1)
    if (last?.metadata.creationTimestamp === undefined) return []
    const since = approvedSince(chain, last)
    return [
      {
        track: name,
        digest: targetsDigest(last),
        ...(Number.isFinite(since) && { approvedSince: timestamp(since) }),
        otherSince: last.metadata.creationTimestamp,
      },
    ]
  })
}
