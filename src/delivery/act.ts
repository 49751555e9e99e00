// Carries out the plan for one cluster of a source. A failed object does not stop the others.
import { inventory, type Inventory } from '#api/kinds/inventory.ts'
import { FIELD_MANAGERS } from '#api/names.ts'
import type { KubeObject } from '#api/schema/object.ts'
import { type ApplyOutcome, describeConflicts } from '#kube/apply.ts'
import { answerOf } from '#kube/errors.ts'
import { outcomeOf } from '#kube/outcome.ts'
import { defined } from '#lib/defined.ts'
import { messageOf } from '#lib/errors.ts'
import { jsonEqual } from '#lib/json.ts'
import { inParallel } from '#lib/pool.ts'
import type { Deleted } from '#runtime/preconditions.ts'
import { type ApplyContext, applyDeclared } from './apply.ts'
import { carryOut } from './carry-out.ts'
import { deleteObject } from './delete.ts'
import { baselineIn, type InventoryMark, leftOfTaken, shardWrites } from './inventory.ts'
import { isMachineSet } from './machine-loss.ts'
import { type InventoryRef, type ObjectRef, refText } from './object-ref.ts'
import { type Delete, isWrite, type Write } from './operation.ts'
import { orderOf } from './order.ts'
import type { ClusterPlan } from './plan.ts'
import { redacted } from './redacted.ts'

interface ObjectFailure {
  readonly ref: ObjectRef
  readonly kind: 'Conflict' | 'Refused' | 'Unreachable'
  readonly message: string
}

export interface ClusterResult {
  readonly applied: number
  readonly pruned: number
  readonly failures: readonly ObjectFailure[]
}

interface ActContext extends ApplyContext {
  readonly mark: InventoryMark
  /** Concurrent writes. */
  readonly atOnce?: number
}

/** Concurrent requests to one cluster, unless the pass shares them among several. */
const PARALLEL = 16

export async function actOnCluster(plan: ClusterPlan, context: ActContext): Promise<ClusterResult> {
  const { mark, owner, seen, signal } = context
  const known = baselineIn(seen.shards, owner)
  const { pruning } = plan
  let { shards } = seen
  const failures: ObjectFailure[] = []
  const applied = new Map<string, string | undefined>()
  let pruned = 0
  const recorded = new Map(seen.inventory.map((ref) => [refText(ref), ref]))
  await carryOut(plan, seen.inventory, {
    applied: () => applied,
    record: async (refs, when) => {
      // The shards' commit changes only with the second write, when it is true.
      if (when === 'After') await writeInventory(context, shards, refs)
      else if (pruning !== undefined || !jsonEqual(refs, seen.inventory) || !jsonEqual(mark.baseline ?? known, known))
        shards = await writeInventory({ ...context, mark: { ...mark, pruning } }, shards, refs, true)
      return undefined
    },
    apply: async () => {
      for (const rank of byRank(plan.operations.filter(isWrite)))
        await inParallel(rank, context.atOnce ?? PARALLEL, async (write) => {
          const failure = await applyOne(write, recorded.get(refText(write.desired.ref)), applied, context)
          if (failure !== undefined)
            failures.push({ ...failure, message: redacted(failure.message, write.desired.object) })
        })
      return undefined
    },
    remove: async (operation) => {
      if (signal?.aborted === true) return false
      // If a set was not applied, it may be the one that takes over this set's machines. The next run retries both.
      if (isMachineSet(operation.ref) && failures.some((f) => isMachineSet(f.ref))) return false
      const outcome = await deleteOne(operation, context)
      if (typeof outcome !== 'string') failures.push(outcome)
      // An object with finalizers stays in the inventory until it is deleted.
      const isEnded = outcome === 'Deleted' || outcome === 'Gone'
      if (isEnded) pruned++
      return isEnded
    },
  })
  await endTaken(context)
  return { applied: applied.size, pruned, failures }
}

const byRank = (writes: readonly Write[]): readonly (readonly Write[])[] =>
  [...Map.groupBy(writes, ({ desired }) => orderOf(desired.ref))].toSorted(([a], [b]) => a - b).map(([, all]) => all)

async function applyOne(
  write: Write,
  recorded: InventoryRef | undefined,
  applied: Map<string, string | undefined>,
  context: ActContext,
): Promise<ObjectFailure | undefined> {
  const { ref } = write.desired
  if (context.signal?.aborted === true)
    return { ref, kind: 'Unreachable', message: 'stopped before the object was applied' }
  try {
    const outcome = await applyDeclared(write, recorded, context)
    if (typeof outcome === 'string') return { ref, kind: 'Refused', message: outcome }
    if (outcome.kind !== 'Applied') return failureOf(ref, outcome)
    applied.set(refText(ref), outcome.object.metadata.uid)
    return undefined
  } catch (error) {
    return { ref, kind: 'Refused', message: messageOf(error) }
  }
}

function failureOf(ref: ObjectRef, outcome: Exclude<ApplyOutcome<KubeObject>, { kind: 'Applied' }>): ObjectFailure {
  if (outcome.kind === 'Conflict' && outcome.conflicts.length > 0)
    return { ref, kind: 'Conflict', message: describeConflicts(outcome.conflicts) }
  const kind = outcome.kind === 'Unknown' ? 'Unreachable' : outcome.kind === 'Denied' ? 'Refused' : 'Conflict'
  return { ref, kind, message: answerOf(outcome.error) }
}

async function deleteOne(
  operation: Delete,
  { connection: { client, types }, signal }: ActContext,
): Promise<Deleted | ObjectFailure> {
  const outcome = await deleteObject({ client, types, ...defined({ signal }) }, operation)
  if (outcome.kind === 'Applied') return outcome.object
  const kind = outcome.kind === 'Unknown' ? 'Unreachable' : 'Refused'
  return { ref: operation.ref, kind, message: messageOf(outcome.error) }
}

/** Last, when everything is in this target's own Inventory. */
async function endTaken({ connection: { program }, owner, seen, signal }: ActContext): Promise<void> {
  const { keep, remove } = leftOfTaken(seen.shards, owner, seen.takeOver)
  const call = defined({ signal })
  for (const { apiVersion, kind, metadata, spec } of keep) {
    const shard = { apiVersion, kind, metadata: { name: metadata.name ?? '' }, spec }
    await program.apply(inventory, shard, { fieldManager: FIELD_MANAGERS.sync, force: true, ...call })
  }
  for (const { metadata } of remove) {
    const { name = '', uid = '', resourceVersion = '' } = metadata
    await outcomeOf(() => program.delete(inventory, { name }, { preconditions: { uid, resourceVersion }, ...call }))
  }
}

async function writeInventory(
  { connection: { program: client }, owner, mark, signal }: ActContext,
  existing: readonly Inventory[],
  refs: readonly InventoryRef[],
  isAhead = false,
): Promise<readonly Inventory[]> {
  const commit = isAhead
    ? (existing.find((s) => s.spec.source === owner.source)?.spec.commit ?? mark.commit)
    : mark.commit
  const { apply, remove } = shardWrites(existing, owner, refs, { ...mark, commit })
  const options = { fieldManager: FIELD_MANAGERS.sync, force: true, ...defined({ signal }) }
  const written = await Promise.all(apply.map((shard) => client.apply(inventory, { ...shard }, options)))
  const byName = new Map(existing.map((shard) => [shard.metadata.name, shard]))
  for (const name of remove) {
    const uid = byName.get(name)?.metadata.uid
    await client.delete(
      inventory,
      { name },
      { ...(uid === undefined ? {} : { preconditions: { uid } }), ...defined({ signal }) },
    )
    byName.delete(name)
  }
  for (const shard of written) byName.set(shard.metadata.name, shard)
  return [...byName.values()]
}
