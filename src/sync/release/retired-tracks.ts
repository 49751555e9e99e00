// Tracks that the FleetSource dropped, but that applied objects. They declare nothing now, so their objects are deleted like any others that git removes. Pure.
import type { FleetSource } from '#api/kinds/fleet-source.ts'
import type { Inventory } from '#api/kinds/inventory.ts'
import type { Release } from '#api/kinds/release.ts'
import { chainOf } from './chain.ts'

export interface RetiredTrack {
  readonly name: string
  /** The pipeline of its newest Release; undefined for a track that had objects only on the hub. */
  readonly pipeline: string | undefined
}

/** `shards`: the Inventories on the hub, the only trace of a track without clusters. */
export function retiredTracks(
  { metadata: { namespace = '', name = '' }, spec }: FleetSource,
  releases: readonly Release[],
  shards: readonly Pick<Inventory, 'spec'>[],
): readonly RetiredTrack[] {
  const current = new Set(spec.tracks.map((t) => t.name))
  const own = releases.filter((r) => r.metadata.namespace === namespace && r.spec.source === name)
  // A member's objects are left to its Releases, even if that member is the hub.
  const isOnHub = ({ spec: s }: Pick<Inventory, 'spec'>) => s.target !== 'Member' && s.refs.length > 0
  const onHub = shards.filter((s) => s.spec.source === `${namespace}/${name}` && isOnHub(s))
  const names = new Set([...own, ...onHub].map((o) => o.spec.track).filter((t) => !current.has(t)))
  return [...names].toSorted().map((track) => ({
    name: track,
    pipeline: chainOf(own, { source: name, track }).at(-1)?.spec.pipeline,
  }))
}
