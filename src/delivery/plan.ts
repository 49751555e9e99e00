// Decides what to do in one cluster: the operation of each object, in execution order, and only the deletions that the guard permits or a user
// approved. Pure. An invalid object affects only itself.
import { MAX_PRUNED } from '#api/kinds/inventory.ts'
import type { Machine } from '#api/kinds/machine.ts'
import { MAX_HELD_CLUSTERS, type ReleaseStatus } from '#api/kinds/release.ts'
import { type CommittedContent, contentOf } from '#api/protocol/committed.ts'
import type { Pruning } from '#api/protocol/pruning.ts'
import { defined } from '#lib/defined.ts'
import type { DesiredObject } from './desired.ts'
import { type Claims, type ClusterConfig, committedContent, diff, type Live, type Sides } from './diff.ts'
import { isCluster, isMachineSet, lossOf, takesFrom } from './machine-loss.ts'
import { type InventoryRef, type ObjectRef, refText } from './object-ref.ts'
import { type Defer, type Delete, isDelete, isWrite, type Operation, type Write } from './operation.ts'
import { byApplyOrder, byDeleteOrder } from './order.ts'
import { allowedPrunes, pruneDigest, pruneTargets } from './prune-guard.ts'

export interface ClusterSeen extends Claims {
  readonly desired: readonly DesiredObject[]
  /** What this source and track applied. */
  readonly inventory: readonly InventoryRef[]
  /** Recorded by another delivery. Their entries stay. */
  readonly skips?: (ref: ObjectRef) => boolean
  /** By `refText`. A missing entry is unknown. */
  readonly live: ReadonlyMap<string, Live>
  /** Digests of approved deletions. */
  readonly approved: ReadonlySet<string>
  /** Digests of deletions for which the hub's Defender granted a permit. Absent: the Defender does not count this target. */
  readonly permitted?: ReadonlySet<string>
  /** Read only if an object with machines is no longer declared. */
  readonly machines: readonly Machine[]
}

/** Deletions that the guard blocks until their digest is approved. */
type KeptPrune = NonNullable<NonNullable<ReleaseStatus['clusters']>[number]['prune']>

export interface HeldPrune extends Omit<KeptPrune, 'permit'> {
  /** Approved, and waiting for the Defender. */
  readonly isApproved?: true
}

export interface ClusterPlan {
  /** Without `Keep`. Writes come first, dependencies before dependents; then deletions, the other way round. */
  readonly operations: readonly Exclude<Operation, { kind: 'Keep' }>[]
  /** By `refText`: the declared specs of kinds whose edit rolls out. Only these may act. Undefined if drift is not corrected: the live spec acts. */
  readonly committed: ReadonlyMap<string, CommittedContent | undefined>
  /** Set if the guard blocks deletions: what an Approval must name. */
  readonly blocked?: HeldPrune
  /** Set if a user approved these deletions. */
  readonly pruning?: Pruning
  readonly approved?: ApprovedPrune
}

/** Approved deletions above the guard's limit. */
interface ApprovedPrune {
  readonly digest: string
  readonly count: number
}

export function planCluster(seen: ClusterSeen, config: ClusterConfig): ClusterPlan {
  const all = operationsOf(seen, config)
  const deletes = all.filter(isDelete).toSorted((a, b) => byDeleteOrder(a.ref, b.ref))
  const { blocked, ...approval } = guarded(deletes, seen, config)
  const waiting = blocked === undefined ? [] : waitingSets(all.filter(isWrite), deletes, seen)
  const writes = all
    .filter(isWrite)
    .filter((write) => !waiting.includes(write))
    .toSorted((a, b) => byApplyOrder(a.desired.ref, b.desired.ref))
  const others = all.filter((o) => o.kind !== 'Keep' && !isWrite(o) && !isDelete(o))
  const block = (ref: ObjectRef): Defer => ({ kind: 'Defer', reason: 'PruneBlocked', ref })
  return {
    operations: [
      ...writes,
      ...(blocked === undefined ? deletes : deletes.map(({ ref }) => block(ref))),
      ...waiting.map(({ desired: { ref } }) => ({ ...block(ref), detail: TAKES_OVER })),
      ...others,
    ],
    committed: committedOf(seen.desired, config),
    ...defined({ blocked }),
    ...approval,
  }
}

function operationsOf(seen: ClusterSeen, config: ClusterConfig): readonly Operation[] {
  const { rejected, desired, inventory, skips = () => false, live } = seen
  const recorded = new Map(inventory.map((ref) => [refText(ref), ref]))
  const declared = new Set([...rejected, ...desired].map(({ ref }) => refText(ref)))
  const liveOf = (ref: ObjectRef): Live => live.get(refText(ref)) ?? 'Unknown'
  const of = (sides: Sides): Operation => diff(sides, seen, config)
  return [
    ...[...rejected, ...desired].map((d) =>
      of({ declared: d, recorded: recorded.get(refText(d.ref)), live: liveOf(d.ref) }),
    ),
    ...inventory
      .filter((ref) => !declared.has(refText(ref)) && !skips(ref))
      .map((ref) => of({ declared: undefined, recorded: ref, live: liveOf(ref) })),
  ]
}

const TAKES_OVER = 'takes over machines of a set whose deletion waits for approval'

/** Both halves of a rename wait together: applied alone, the new set would create all machines a second time. */
function waitingSets(writes: readonly Write[], held: readonly Delete[], { machines }: ClusterSeen): readonly Write[] {
  const sets = held.filter(({ ref }) => isMachineSet(ref))
  return writes.filter(({ desired }) => sets.some(({ uid }) => takesFrom(desired, uid, machines)))
}

const committedOf = (desired: readonly DesiredObject[], config: ClusterConfig): ClusterPlan['committed'] =>
  new Map(
    desired.flatMap(({ ref, object }) =>
      contentOf(object) === undefined ? [] : [[refText(ref), committedContent(object, config)] as const],
    ),
  )

/**
 * Counts deletions of objects, and of machines deleted with them, against the guard's limit. Beyond it, they wait together for an approval of exactly
 * these deletions.
 */
function guarded(
  deletes: readonly Delete[],
  seen: ClusterSeen,
  { prune: { guard } }: ClusterConfig,
): Pick<ClusterPlan, 'blocked' | 'pruning' | 'approved'> {
  const [first] = deletes
  if (first === undefined) return {}
  const allowed = allowedPrunes(guard, seen.inventory.length)
  const here = lossOf(deletes, seen.desired, seen.machines, (ref) => liveUid(seen, ref))
  const inClusters = lossOfClusters(deletes, seen)
  const machines = here.lost + inClusters.lost
  const allowedMachines = allowedPrunes(guard, here.total + inClusters.lost)
  // A guard of 100% allows any number.
  const isCounted = !inClusters.isUnknown || guard === '100%'
  if (deletes.length <= allowed && machines <= allowedMachines && isCounted) return {}
  const digest = pruneDigest(deletes)
  const isApproved = seen.approved.has(digest)
  if (isApproved && seen.permitted?.has(digest) !== false)
    return {
      approved: { digest, count: deletes.length },
      ...(deletes.length <= MAX_PRUNED && { pruning: { digest, targets: pruneTargets(deletes) } }),
    }
  return {
    blocked: {
      digest,
      count: deletes.length,
      allowed,
      first: refText(first.ref),
      ...heldClusters(deletes),
      ...(machines > 0 && { machines, allowedMachines }),
      ...(isApproved && { isApproved }),
    },
  }
}

/** A Cluster takes all of its machines with it. This counts as if git removed its pools one by one. */
function lossOfClusters(deletes: readonly Delete[], { live }: ClusterSeen) {
  const counts = deletes
    .filter(({ ref }) => isCluster(ref))
    .map(({ ref }) => {
      const found = live.get(refText(ref))
      return typeof found === 'object' ? (found.machines ?? 0) : 0
    })
  const known = counts.filter((n) => n !== 'Unknown')
  return { lost: known.reduce((sum, n) => sum + n, 0), isUnknown: known.length < counts.length }
}

/** Its data counts as one object in the limits. */
function heldClusters(deletes: readonly Delete[]): Pick<HeldPrune, 'clusters'> {
  const clusters = deletes.filter(({ ref }) => isCluster(ref))
  if (clusters.length === 0) return {}
  return { clusters: clusters.slice(0, MAX_HELD_CLUSTERS).map(({ ref }) => `${ref.namespace}/${ref.name}`) }
}

function liveUid({ live }: ClusterSeen, ref: ObjectRef): string | undefined {
  const found = live.get(refText(ref))
  return typeof found === 'object' ? found.uid : undefined
}
