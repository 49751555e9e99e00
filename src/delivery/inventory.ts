// The inventory as shards of Inventory objects: what sync applied, written before the apply so that nothing applied is ever lost. Pure.
import { without } from '#lib/without.ts'
import type { Pruning } from '#api/protocol/pruning.ts'
import { API_GROUP_VERSION } from '#api/kind.ts'
import { MAX_REFS, type Baseline, type Inventory, type InventoryInput } from '#api/kinds/inventory.ts'
import { defined } from '#lib/defined.ts'
import { jsonEqual } from '#lib/json.ts'
import { shortDigest } from './desired.ts'
import { compareRefs, refText, type InventoryRef, type ObjectRef } from './object-ref.ts'
import { isDelete, isWrite } from './operation.ts'
import type { ClusterPlan } from './plan.ts'
import { isOfOtherCluster, isOwn, isUndivided, type InventoryOwner } from './targets.ts'

export interface InventoryMark {
  readonly commit: string
  readonly release: string | undefined
  readonly appliedAt: string
  /** Failures before the Release. Absent: the existing baseline is kept. */
  readonly baseline?: Baseline | undefined
  /** Recoveries of its sets are exempt from budgets while this is set. */
  readonly isBudgetExempt?: boolean
  /** Approved deletions, while they run. */
  readonly pruning?: Pruning | undefined
}

/** The baseline is in the first shard. One write puts it there together with the objects, before anything of the Release is applied. */
export function baselineIn(shards: readonly Inventory[], owner: InventoryOwner): Baseline | undefined {
  const first = shards.filter(({ spec }) => spec.shard === 0)
  const own = first.find(({ spec }) => isOwn(owner, spec))
  const undivided = owner.target === 'Member' ? first.find(({ spec }) => isUndivided(owner, spec)) : undefined
  return (own ?? undivided)?.spec.baseline
}

/** Two sources may have tracks with the same name, and a hub may be a member. The names of source and target keep them apart. */
export const shardName = ({ source, track, target }: InventoryOwner, shard: number): string =>
  `${source.replace('/', '.')}.${track}.${target.toLowerCase()}-${shard}`

/**
 * Ignores shards of other sources, tracks or targets. Of what another Cluster applied to the same server, only what is declared now counts: a Cluster that leaves
 * the fleet, or gets another name, keeps the rest. `declared`: by `refText`.
 */
export function inventoryRefs(
  shards: readonly Inventory[],
  owner: InventoryOwner,
  declared: ReadonlySet<string>,
): readonly InventoryRef[] {
  const refs = shards
    .filter(({ spec }) => isOwn(owner, spec))
    .flatMap(({ spec }) =>
      isOfOtherCluster(owner, spec) ? spec.refs.filter((ref) => declared.has(refText(ref))) : spec.refs,
    )
  return [...new Map(refs.map((ref) => [refText(ref), ref])).values()].toSorted(compareRefs)
}

/** Shards that the owner takes over: those of older releases and of deleted sources. */
export interface TakeOver {
  /** Deleted sources. */
  readonly replaces: readonly string[]
  /** By `refText`: what other tracks declare. */
  readonly elsewhere: ReadonlySet<string>
  /** For an undivided Inventory: whether a reference belongs to the owner. */
  readonly belongs: (ref: ObjectRef) => boolean
}

/** Whether the owner takes a reference of the shard. Undefined if it takes nothing from the shard. */
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

/** Those shards after the takeover. Empty shards are deleted. */
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
 * Before the apply: all previous objects and all that are about to be applied, without a digest where it changes. Both the new and the previous
 * content may be acted on, so that a crash or a stale cache between this write and the last one blocks nothing.
 */
export function refsBefore(seen: readonly InventoryRef[], { operations }: ClusterPlan): readonly InventoryRef[] {
  const refs = new Map(seen.map((ref) => [refText(ref), ref]))
  for (const { desired, meanwhile } of operations.filter(isWrite)) {
    const key = refText(desired.ref)
    const { digest, committed: _, ...rest }: InventoryRef = refs.get(key) ?? { ...desired.ref }
    // A restored object has the recorded content.
    const isRecorded = digest === shortDigest(desired.digest)
    refs.set(key, { ...rest, ...defined({ committed: meanwhile }), ...(isRecorded && { digest }) })
  }
  // An object that we are about to delete is no longer compared with git's declaration.
  for (const { ref } of operations.filter(isDelete)) {
    const { committed: _, ...rest } = ref
    refs.set(refText(ref), rest)
  }
  return [...refs.values()].toSorted(compareRefs)
}

export interface Outcomes {
  /** By `refText`: the uid of the applied object. */
  readonly applied: ReadonlyMap<string, string | undefined>
  readonly pruned: ReadonlySet<string>
}

/** After the apply: digests of applied objects, without objects that were pruned, deleted or moved to another track. */
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
  // Also for objects that were not applied now: an older release may have recorded them, or drift handling may have changed since.
  for (const [key, { committed: _, ...ref }] of refs) {
    if (ref.digest === undefined || !plan.committed.has(key)) continue
    const content = plan.committed.get(key)
    refs.set(key, content === undefined ? ref : { ...ref, committed: [content] })
  }
  for (const operation of plan.operations) {
    if (operation.kind !== 'Delete' && operation.kind !== 'Forget' && operation.kind !== 'Conflict') continue
    const key = refText(operation.ref)
    // Finalizers keep it. Without a digest it is applied again if a commit declares it once more.
    const isEnding = operation.kind === 'Delete' && !pruned.has(key)
    if (isEnding || ('isNoted' in operation && operation.isNoted))
      refs.set(
        key,
        without<InventoryRef, 'digest' | 'committed'>(refs.get(key) ?? operation.ref, 'digest', 'committed'),
      )
    else refs.delete(key)
  }
  return [...refs.values()].toSorted(compareRefs)
}

export interface ShardWrites {
  readonly apply: readonly InventoryInput[]
  /** Names of shards that are no longer needed. */
  readonly remove: readonly string[]
}

/** Only differences: an inventory of 50,000 objects is not rewritten because of one. */
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
