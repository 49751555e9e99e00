// Which recorded objects belong to which target of a source. The hub and a member are two targets, even if both are one cluster: each has its own
// Inventories, and neither deletes what the other records. Shared Inventories of older releases are divided. Pure.
import { API_GROUP } from '#api/kind.ts'
import type { Inventory } from '#api/kinds/inventory.ts'
import { type InventoryRef, refText, type ObjectRef } from './object-ref.ts'

export type TargetKind = 'Hub' | 'Member'

export interface InventoryOwner {
  /** namespace/name of the FleetSource on the hub. */
  readonly source: string
  readonly track: string
  readonly target: TargetKind
  /** For a member: informs readers, and the hub if it is this cluster. */
  readonly cluster?: string
}

/** By cluster name, or undefined for the hub: what the commit declares there in any track, by `refText`. */
export type DeclaredIn = (cluster: string | undefined) => ReadonlySet<string>

/** What the other target of the source has in the same cluster. Empty if the cluster is only one target. */
export interface OtherTarget {
  readonly listed: ReadonlySet<string>
  readonly declared: ReadonlySet<string>
}

export const NO_OTHER_TARGET: OtherTarget = { listed: new Set(), declared: new Set() }

type Spec = Inventory['spec']

const isOfTrack = ({ source, track }: InventoryOwner, spec: Spec): boolean =>
  spec.source === source && spec.track === track

export const isOwn = (owner: InventoryOwner, spec: Spec): boolean =>
  isOfTrack(owner, spec) && spec.target === owner.target

/** The server was registered under another name. Older releases did not record the name. */
export const isOfOtherCluster = ({ cluster }: InventoryOwner, spec: Spec): boolean =>
  cluster !== undefined && spec.cluster !== undefined && spec.cluster !== cluster

/** Written by a release that kept one Inventory for both targets. */
export const isUndivided = (owner: InventoryOwner, spec: Spec): boolean =>
  isOfTrack(owner, spec) && spec.target === undefined

const ofOther = (
  shards: readonly Inventory[],
  { source, target }: InventoryOwner,
  replaces: readonly string[] = [],
): readonly Inventory[] =>
  shards.filter(
    ({ spec }) =>
      (spec.source === source || replaces.includes(spec.source)) && spec.target !== undefined && spec.target !== target,
  )

export function otherTarget(
  shards: readonly Inventory[],
  owner: InventoryOwner,
  declaredIn: DeclaredIn | undefined,
): OtherTarget {
  const others = ofOther(shards, owner)
  if (others.length === 0) return NO_OTHER_TARGET
  const clusters = new Set(others.map(({ spec }) => spec.cluster))
  return {
    listed: new Set(others.flatMap(({ spec }) => spec.refs.map(refText))),
    declared: new Set([...clusters].flatMap((c) => [...(declaredIn?.(c) ?? [])])),
  }
}

/** What the other tracks of the source record for the same target, by `refText`. */
export const ofOtherTracks = (
  shards: readonly Inventory[],
  { source, track, target }: InventoryOwner,
): ReadonlyMap<string, InventoryRef> =>
  new Map(
    shards
      .filter(({ spec }) => spec.source === source && spec.target === target && spec.track !== track)
      .flatMap(({ spec }) => spec.refs.map((ref) => [refText(ref), ref] as const)),
  )

/** Kinds that only sync on the hub reads. */
const HUB_KINDS: ReadonlySet<string> = new Set(['Cluster', 'FleetSource', 'ReleasePipeline'])
const isOfHub = ({ group, kind }: ObjectRef): boolean => group === API_GROUP && HUB_KINDS.has(kind)

export interface Division {
  readonly shards: readonly Inventory[]
  readonly owner: InventoryOwner
  /** Deleted sources whose objects are taken over. */
  readonly replaces: readonly string[]
  /** By `refText`: what the owner's target declares. */
  readonly desired: ReadonlySet<string>
  readonly declaredIn: DeclaredIn | undefined
}

/**
 * Of an undivided Inventory's references, those that belong to the owner. An object that git just removed belongs to the target that wrote the
 * Inventory. If both did, it waits until the hub has taken its own, so that neither deletes the other's objects.
 */
export function belongsTo({ shards, owner, replaces, desired, declaredIn }: Division): (ref: ObjectRef) => boolean {
  const undivided = shards.filter(
    ({ spec }) => isUndivided(owner, spec) || (spec.target === undefined && replaces.includes(spec.source)),
  )
  const others = ofOther(shards, owner, replaces)
  const isMine = (ref: ObjectRef) => desired.has(refText(ref))
  if (owner.target === 'Hub') {
    // Only passes over members record a Release and a baseline.
    const isOfMember = ({ spec }: Inventory) => spec.release !== undefined || spec.baseline !== undefined
    const hasMember = undivided.some(isOfMember) || others.length > 0
    return (ref) => isMine(ref) || isOfHub(ref) || !hasMember
  }
  const onHub = declaredIn?.(undefined) ?? new Set<string>()
  const isHubs = (ref: ObjectRef) => isOfHub(ref) || onHub.has(refText(ref))
  const isShared = undivided.some(({ spec }) => spec.refs.some(isHubs))
  const hasHubTaken = others.some(({ spec }) => spec.source === owner.source && spec.track === owner.track)
  return (ref) => isMine(ref) || (!isHubs(ref) && (!isShared || hasHubTaken))
}
