// The inventory as shards of Inventory objects: what sync applied, written before it applies so that nothing applied is ever forgotten. Pure.
import type { Pruning } from '#api/protocol/pruning.ts'
import { API_GROUP_VERSION } from '#api/kind.ts'
import { MAX_REFS, type Baseline, type Inventory, type InventoryInput } from '#api/kinds/inventory.ts'
import { defined } from '#lib/defined.ts'
import { jsonEqual } from '#lib/json.ts'
import { shortDigest } from './desired.ts'
import { compareRefs, refText, type InventoryRef, type ObjectRef } from './object-ref.ts'
import { isDelete, isWrite } from './operation.ts'
import type { ClusterPlan } from './plan.ts'
import { isOwn, isUndivided, type InventoryOwner } from './targets.ts'

export interface InventoryMark {
  readonly commit: string
  readonly release: string | undefined
  readonly appliedAt: string
  /** Failures before the Release; when absent, the existing baseline is kept. */
  readonly baseline?: Baseline | undefined
  /** Recoveries of its sets are exempt from budgets, as long as this is so. */
  readonly isBudgetExempt?: boolean
  /** Approved deletions, for as long as they run. */
  readonly pruning?: Pruning | undefined
}

/** The baseline is in the first shard: it is written before anything of the Release is applied, in the same write. */
export function baselineIn(shards: readonly Inventory[], owner: InventoryOwner): Baseline | undefined {
  const first = shards.filter(({ spec }) => spec.shard === 0)
  const own = first.find(({ spec }) => isOwn(owner, spec))
  const undivided = owner.target === 'Member' ? first.find(({ spec }) => isUndivided(owner, spec)) : undefined
  return (own ?? undivided)?.spec.baseline
}

/** Two sources may have tracks of the same name, and a hub may be a member: the names of source and target keep them apart. */
const shardName = ({ source, track, target }: InventoryOwner, shard: number): string =>
  `${source.replace('/', '.')}.${track}.${target.toLowerCase()}-${shard}`

/** Shards of another source, track or target in the list are left out. */
export function inventoryRefs(shards: readonly Inventory[], owner: InventoryOwner): readonly InventoryRef[] {
  const refs = shards.filter(({ spec }) => isOwn(owner, spec)).flatMap(({ spec }) => spec.refs)
  return [...new Map(refs.map((ref) => [refText(ref), ref])).values()].toSorted(compareRefs)
}

/** Shards of others that the owner takes over: those of older releases, and of deleted sources. */
export interface TakeOver {
  /** Deleted sources. */
  readonly replaces: readonly string[]
  /** By `refText`: what other tracks declare. */
  readonly elsewhere: ReadonlySet<string>
  /** Of an undivided Inventory, whether a reference belongs to the owner. */
  readonly belongs: (ref: ObjectRef) => boolean
}

/** Whether the owner takes a reference of the shard; undefined for a shard of which it takes nothing. */
function takes(
  { spec }: Inventory,
  owner: InventoryOwner,
  { replaces, elsewhere, belongs }: TakeOver,
): ((ref: InventoryRef) => boolean) | undefined {
  if (isUndivided(owner, spec)) return belongs
  if (!replaces.includes(spec.source)) return undefined
  if (spec.target !== undefined && spec.target !== owner.target) return undefined
  return (ref) => !elsewhere.has(refText(ref)) && (spec.target !== undefined || belongs(ref))
}

/** What deleted sources applied does not count as applied by this one yet. */
export function takenRefs(
  shards: readonly Inventory[],
  owner: InventoryOwner,
  takeOver: TakeOver,
): readonly InventoryRef[] {
  return shards.flatMap((shard) => {
    const mine = shard.spec.refs.filter(takes(shard, owner, takeOver) ?? (() => false))
    if (shard.spec.source === owner.source) return mine
    return mine.map((ref) => {
      const { digest: _, ...unapplied } = ref
      return unapplied
    })
  })
}

/** Those shards without what was taken over; those that become empty are deleted. */
export function leftOfTaken(
  shards: readonly Inventory[],
  owner: InventoryOwner,
  takeOver: TakeOver,
): { readonly keep: readonly Inventory[]; readonly remove: readonly Inventory[] } {
  const left = shards.flatMap((shard) => {
    const isTaken = takes(shard, owner, takeOver)
    return isTaken === undefined ? [] : [{ shard, refs: shard.spec.refs.filter((ref) => !isTaken(ref)) }]
  })
  return {
    keep: left.flatMap(({ shard, refs }) =>
      refs.length > 0 && refs.length < shard.spec.refs.length ? [{ ...shard, spec: { ...shard.spec, refs } }] : [],
    ),
    remove: left.filter(({ refs }) => refs.length === 0).map(({ shard }) => shard),
  }
}

/**
 * Before anything is applied: all previous objects and all that are about to be, without a digest where that changes. Both the new content and the previous one
 * may be acted on, so that a crash or a stale cache between this write and the last one blocks nothing.
 */
export function refsBefore(seen: readonly InventoryRef[], { operations }: ClusterPlan): readonly InventoryRef[] {
  const refs = new Map(seen.map((ref) => [refText(ref), ref]))
  for (const { desired, meanwhile } of operations.filter(isWrite)) {
    const key = refText(desired.ref)
    const { digest, committed: _, ...rest }: InventoryRef = refs.get(key) ?? { ...desired.ref }
    // A drifted object that is put back has the content that was recorded.
    const isRecorded = digest === shortDigest(desired.digest)
    refs.set(key, { ...rest, ...defined({ committed: meanwhile }), ...(isRecorded && { digest }) })
  }
  // What is about to be deleted by us is no longer held to what git declared.
  for (const { ref } of operations.filter(isDelete)) {
    const { committed: _, ...rest } = ref
    refs.set(refText(ref), rest)
  }
  return [...refs.values()].toSorted(compareRefs)
}

export interface Outcomes {
  /** By `refText`, the uid of what was applied. */
  readonly applied: ReadonlyMap<string, string | undefined>
  readonly pruned: ReadonlySet<string>
}

/** After: digests of what was applied, without what was pruned, was deleted or belongs to another track now. */
export function refsAfter(
  seen: readonly InventoryRef[],
  plan: ClusterPlan,
  { applied, pruned }: Outcomes,
): readonly InventoryRef[] {
  const refs = new Map(refsBefore(seen, plan).map((ref) => [refText(ref), ref]))
  for (const { desired } of plan.operations.filter(isWrite)) {
    const key = refText(desired.ref)
    if (!applied.has(key)) continue
    const uid = applied.get(key)
    refs.set(key, { ...desired.ref, ...defined({ uid }), digest: shortDigest(desired.digest) })
  }
  // Also for objects that were not applied now: they may have been recorded by an older release, or drift handling has changed since.
  for (const [key, { committed: _, ...ref }] of refs) {
    if (ref.digest === undefined || !plan.committed.has(key)) continue
    const content = plan.committed.get(key)
    refs.set(key, content === undefined ? ref : { ...ref, committed: [content] })
  }
  for (const { ref } of plan.operations.filter(isDelete)) {
    const key = refText(ref)
    const { digest: _, committed: __, ...ending }: InventoryRef = refs.get(key) ?? ref
    // Finalizers hold it. Without a digest it is applied again should a commit declare it once more.
    if (pruned.has(key)) refs.delete(key)
    else refs.set(key, ending)
  }
  for (const operation of plan.operations)
    if (operation.kind === 'Forget' || operation.kind === 'Conflict') refs.delete(refText(operation.ref))
  return [...refs.values()].toSorted(compareRefs)
}

export interface ShardWrites {
  readonly apply: readonly InventoryInput[]
  /** Names of shards that are not needed any more. */
  readonly remove: readonly string[]
}

/** Only what differs: an inventory of 50,000 objects is not rewritten because of one. */
export function shardWrites(
  existing: readonly Inventory[],
  owner: InventoryOwner,
  refs: readonly InventoryRef[],
  mark: InventoryMark,
): ShardWrites {
  const count = Math.max(1, Math.ceil(refs.length / MAX_REFS))
  const own = existing.filter(({ spec }) => isOwn(owner, spec))
  const byName = new Map(own.map((shard) => [shard.metadata.name ?? '', shard]))
  const apply: InventoryInput[] = []
  const names = new Set<string>()
  for (let shard = 0; shard < count; shard++) {
    const name = shardName(owner, shard)
    names.add(name)
    const part = refs.slice(shard * MAX_REFS, (shard + 1) * MAX_REFS).map(plainRef)
    const old = byName.get(name)?.spec
    const baseline = shard === 0 ? (mark.baseline ?? baselineIn(existing, owner)) : undefined
    const pruning = shard === 0 ? mark.pruning : undefined
    const exempt = mark.isBudgetExempt === true ? (['Budget'] as const) : undefined
    const isSame =
      old !== undefined &&
      jsonEqual(old.refs.map(plainRef), part) &&
      jsonEqual(old.baseline, baseline) &&
      jsonEqual(old.pruning, pruning) &&
      jsonEqual(old.exemptRecoveries, exempt)
    if (isSame && old.shards === count && old.commit === mark.commit && old.cluster === owner.cluster) continue
    const { commit, release, appliedAt } = mark
    const spec = {
      ...owner,
      shard,
      shards: count,
      commit,
      ...defined({ release }),
      appliedAt,
      ...defined({ baseline, exemptRecoveries: exempt }),
      ...(pruning === undefined ? {} : { pruning: { digest: pruning.digest, targets: [...pruning.targets] } }),
      refs: part,
    }
    apply.push({ apiVersion: API_GROUP_VERSION, kind: 'Inventory', metadata: { name }, spec })
  }
  return { apply, remove: [...byName.keys()].filter((name) => !names.has(name)) }
}

export const plainRef = ({
  group,
  kind,
  namespace,
  name,
  uid,
  digest,
  committed,
}: InventoryRef): ObjectRef & InventoryRef => ({
  group,
  kind,
  namespace,
  name,
  ...defined({ uid, digest, committed }),
})
