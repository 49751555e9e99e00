// Which of a commit's deletions the prune guard stops, and the digest that an Approval must name, computed by sync's own planner. Pure.
import { API_GROUP } from '#api/kind.ts'
import { type Cluster, cluster as clusterKind } from '#api/kinds/cluster.ts'
import { fleetSource } from '#api/kinds/fleet-source.ts'
import { machineComponentSet } from '#api/kinds/machine-component-set.ts'
import { machineComponent } from '#api/kinds/machine-component.ts'
import { machineSet } from '#api/kinds/machine-set.ts'
import { machine } from '#api/kinds/machine.ts'
import { HUB_TARGET } from '#api/names.ts'
import { counted } from '#lib/counted.ts'
import { declaredOnHub } from '#delivery/declared-on-hub.ts'
import type { RenderedTarget, Targets } from '#delivery/desired.ts'
import type { ClusterConfig, Live, LiveObject } from '#delivery/diff.ts'
import { isCluster, takesMachines } from '#delivery/machine-loss.ts'
import { type ObjectRef, refText } from '#delivery/object-ref.ts'
import { componentsInUse } from '#delivery/observe.ts'
import { type HeldPrune, planCluster } from '#delivery/plan.ts'
import { otherTarget } from '#delivery/targets.ts'
import { declaredRefs, splitByTrack } from '#sync/release/tracks.ts'
import { withTurns } from '#sync/release/turns.ts'
import { bindingHub, isMember } from './stage-members.ts'
import { type AppliedObjects, type Inventory, type SourceRules, rulesOf } from './inventory.ts'
import { defined } from '#lib/defined.ts'

export interface PromisedPrune extends Pick<HeldPrune, 'digest' | 'count' | 'first' | 'machines'> {
  readonly cluster: string
  /** namespace/name of the FleetSource. */
  readonly source: string
  readonly track: string
  /** Undefined, with both limits, if the source is in no inventory and not in git: its guard may then allow these deletions. */
  readonly guard?: ClusterConfig['prune']['guard']
  readonly allowed?: number
  readonly allowedMachines?: number
  readonly takenAt: string
  /** Why sync may request another digest. Left out: sync will request this one unless the cluster changes. */
  readonly mayDiffer?: string
}

/** Deletions in a cluster with an unknown digest. */
export interface UnknownPrune {
  readonly cluster: string
  readonly why: string
}

export interface Prunes {
  readonly promised: readonly PromisedPrune[]
  readonly unknown: readonly UnknownPrune[]
}

export interface PrunesRequest {
  readonly inventories: readonly Inventory[]
  readonly before: Targets
  readonly after: Targets
  /** Clusters from which the commit removes objects. */
  readonly clusters: readonly string[]
  /** The planned commit. */
  readonly commit: string
  readonly now: number
}

/** The cluster may have changed since an older inventory. */
const FRESH_MS = 3_600_000

export function prunesOf(request: PrunesRequest): Prunes {
  const promised: PromisedPrune[] = []
  const unknown: UnknownPrune[] = []
  for (const cluster of request.clusters) {
    const place = placeOf(cluster, request.inventories)
    if ('why' in place) unknown.push(place)
    else promised.push(...place.applied.flatMap((a) => promisedOf(cluster, place.inventory, a, request) ?? []))
  }
  return { promised, unknown }
}

interface Place {
  readonly inventory: Inventory
  readonly applied: readonly AppliedObjects[]
}

/** The hub may have no inventory of its own: where it is also a member, that one has both. */
function placeOf(cluster: string, inventories: readonly Inventory[]): Place | UnknownPrune {
  const isHub = cluster === HUB_TARGET
  const target = isHub ? 'Hub' : 'Member'
  const own = inventories.find((i) => i.cluster === cluster)
  const inventory =
    own ?? (isHub ? inventories.find((i) => i.applied?.some((a) => a.target === 'Hub') === true) : undefined)
  if (inventory === undefined) return { cluster, why: 'no inventory was given' }
  if (inventory.applied === undefined)
    return { cluster, why: 'its inventory was made by an older release; export it again' }
  if (inventory.applied.some((a) => a.target === undefined))
    return { cluster, why: 'what was applied there was recorded by an older release; sync records it again' }
  return { inventory, applied: inventory.applied.filter((a) => a.target === target) }
}

function promisedOf(
  cluster: string,
  inventory: Inventory,
  applied: AppliedObjects,
  { inventories, before, after, commit, now }: PrunesRequest,
): PromisedPrune | undefined {
  const { source, track, refs } = applied
  const old = before.get(cluster)
  // Another source declares its own objects.
  const declared = refsIn(old)
  if (!refs.some((ref) => declared.has(refText(ref)))) return undefined
  // A cluster that leaves the fleet keeps what it has.
  if (!after.has(cluster) && cluster !== HUB_TARGET && !isMember(cluster, after)) return undefined
  const rules = rulesFor(source, inventories, after)
  if (rules?.prune.enabled === false) return undefined
  const tracks = rules === undefined ? undefined : splitByTrack(after, rules.tracks).tracks
  const target = (tracks === undefined ? after : tracks.get(track))?.get(cluster) ?? NOTHING
  const elsewhere =
    tracks === undefined ? new Set<string>() : declaredRefs(new Map([...tracks].filter(([t]) => t !== track)), cluster)
  const isHub = cluster === HUB_TARGET
  const inTurn = isHub ? leavingInTurn(before, after) : new Set<string>()
  const config: ClusterConfig = {
    commit,
    source,
    target: isHub ? 'Hub' : 'Member',
    prune: rules?.prune ?? { enabled: true, guard: 0 },
    drift: 'Correct',
  }
  const owner = { source, track, target: config.target }
  const shards = (inventory.applied ?? []).map((a) => ({ spec: { ...a, shard: 0, shards: 1, cluster } })) as never
  const plan = planCluster(
    {
      desired: target.objects,
      rejected: target.rejected,
      inventory: refs,
      skips: (ref) => isCluster(ref) && inTurn.has(ref.name),
      live: liveIn(inventory, applied, target, (ref) => machinesIn(ref, old, inventories)),
      elsewhere,
      other: otherTarget(shards, owner, (name) => refsIn(after.get(name ?? HUB_TARGET))),
      referenced: componentsInUse(inventory.machines, inventory.canaries ?? []),
      approved: new Set(),
      machines: inventory.machines,
    },
    config,
  )
  const { blocked } = plan
  if (blocked === undefined) return undefined
  const { digest, count, first, machines, allowed, allowedMachines } = blocked
  const recorded = new Set(
    (inventory.applied ?? []).filter((a) => a.source === source).flatMap((a) => a.refs.map(refText)),
  )
  const mayDiffer = doubtOf({
    own: refs.map(refText),
    recorded,
    declared,
    stays: refsIn(after.get(cluster)),
    age: now - Date.parse(inventory.takenAt),
  })
  return {
    cluster,
    source,
    track,
    digest,
    count,
    first,
    ...defined({ machines }),
    ...(rules !== undefined && { guard: rules.prune.guard, allowed }),
    ...(rules !== undefined && allowedMachines !== undefined && { allowedMachines }),
    takenAt: inventory.takenAt,
    ...defined({ mayDiffer }),
  }
}

/** Clusters that the hub's prune guard does not count: each is deleted in its stage. */
function leavingInTurn(before: Targets, after: Targets): ReadonlySet<string> {
  if (bindingHub(before, after).pipelines.length === 0) return new Set()
  const turns = withTurns(before, { had: () => false })
  const names = declaredOnHub(clusterKind, before).map(({ metadata: { name = '' } }) => name)
  return new Set(names.filter((name) => turns.has(name) && !isMember(name, after)))
}

const NOTHING: RenderedTarget = { objects: [], rejected: [] }

const refsIn = (target: RenderedTarget | undefined): ReadonlySet<string> =>
  new Set([...(target?.objects ?? []), ...(target?.rejected ?? [])].map(({ ref }) => refText(ref)))

/** The rules that the commit declares, else those on the hub. */
function rulesFor(source: string, inventories: readonly Inventory[], after: Targets): SourceRules | undefined {
  const declared = declaredOnHub(fleetSource, after).map(rulesOf)
  return [...declared, ...inventories.flatMap((i) => i.sources ?? [])].find((r) => r.source === source)
}

/** The hub counts them itself; here the count comes from the cluster's inventory. */
function machinesIn(
  ref: ObjectRef,
  before: RenderedTarget | undefined,
  inventories: readonly Inventory[],
): number | 'Unknown' {
  const declared = before?.objects.find((o) => refText(o.ref) === refText(ref))?.object as Cluster | undefined
  if (declared !== undefined && !takesMachines(declared.spec)) return 0
  const total = inventories.find(({ cluster }) => cluster === ref.name)?.machines.length
  return declared === undefined ? 'Unknown' : (total ?? 'Unknown')
}

/** Kinds that an inventory lists completely. Objects of other kinds are assumed to exist as sync applied them. */
const listsOf = ({ machines, machineSets, sets, components }: Inventory) =>
  [
    [machine.kind, machines],
    [machineSet.kind, machineSets],
    [machineComponentSet.kind, sets],
    [machineComponent.kind, components],
  ] as const

function liveIn(
  inventory: Inventory,
  { source, refs }: AppliedObjects,
  target: RenderedTarget,
  machinesOf: (cluster: ObjectRef) => number | 'Unknown',
): Map<string, Live> {
  const live = new Map<string, Live>()
  const there = (uid: string, isDeleting = false): LiveObject => ({
    uid,
    resourceVersion: '',
    commit: undefined,
    source,
    matches: true,
    isDeleting,
  })
  for (const ref of refs) {
    const found = ref.uid === undefined ? 'Unknown' : there(ref.uid)
    live.set(refText(ref), isCluster(ref) && found !== 'Unknown' ? { ...found, machines: machinesOf(ref) } : found)
  }
  for (const [kind, list] of listsOf(inventory)) {
    const found = new Map(list.map((o) => [o.metadata.name ?? '', o.metadata]))
    for (const ref of [...refs, ...target.objects.map((o) => o.ref)]) {
      if (ref.group !== API_GROUP || ref.kind !== kind) continue
      const metadata = found.get(ref.name)
      const isThere = metadata !== undefined
      live.set(refText(ref), isThere ? there(metadata.uid ?? '', metadata.deletionTimestamp !== undefined) : 'Absent')
    }
  }
  return live
}

interface Recorded {
  /** What sync recorded in the cluster for this track, and for all tracks of the source. */
  readonly own: readonly string[]
  readonly recorded: ReadonlySet<string>
  /** By the plan's base, and by its commit. */
  readonly declared: ReadonlySet<string>
  readonly stays: ReadonlySet<string>
  readonly age: number
}

/** The digest covers each object: applying or deleting one more before the commit arrives changes it. */
function doubtOf({ own, recorded, declared, stays, age }: Recorded): string | undefined {
  const more = own.filter((ref) => !declared.has(ref) && !stays.has(ref))
  if (more[0] !== undefined)
    return `the cluster has ${counted(more.length, 'object')} that the base of the plan does not declare, the first is ${more[0]}`
  const missing = [...declared].filter((ref) => !recorded.has(ref) && !stays.has(ref))
  if (missing[0] !== undefined)
    return `the cluster does not have ${counted(missing.length, 'object')} yet that the base of the plan declares, the first is ${missing[0]}`
  return age > FRESH_MS ? `the inventory is ${Math.floor(age / FRESH_MS)} h old` : undefined
}
