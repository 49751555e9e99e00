// Carries out the plan of one cluster: inventory first, then objects in order, then deletions, then the inventory again. After a kill the next run resumes.
import { defined } from '#lib/defined.ts'
import { inParallel } from '#lib/pool.ts'
import { inventory, type Inventory } from '#api/kinds/inventory.ts'
import { ANNOTATIONS, FIELD_MANAGERS } from '#api/names.ts'
import { isRolloutKind, keptContent, readKept } from '#api/protocol/committed.ts'
import { messageOf, numbered } from '#lib/errors.ts'
import { isObject, jsonEqual, type Json } from '#lib/json.ts'
import { applyObject, describeConflicts, type ApplyOutcome } from '#kube/apply.ts'
import type { KubeClient } from '#kube/client.ts'
import { isApiError } from '#kube/errors.ts'
import { outcomeOf } from '#kube/outcome.ts'
import type { KubeObject } from '#api/schema/object.ts'
import type { ResourceType } from '#api/schema/resource.ts'
import { isMachineSet } from './machine-loss.ts'
import { refText, type ObjectRef } from './object-ref.ts'
import type { ClusterConnection } from './connection.ts'
import { isSourceManager, sourceManager } from './manager.ts'
import { formerManagers, hasOtherWriter, isFound, takenOver } from './ownership.ts'
import { deliveryErrors } from './delivery-errors.ts'
import {
  baselineIn,
  leftOfTaken,
  refsAfter,
  refsBefore,
  shardWrites,
  type InventoryMark,
  type TakeOver,
} from './inventory.ts'
import { hasDeclaredContent } from './observe.ts'
import { orderOf } from './order.ts'
import { redacted } from './redacted.ts'
import type { ApplyAction, ClusterPlan, InventoryRef, PruneAction } from './plan.ts'
import type { InventoryOwner } from './targets.ts'

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

export interface ActContext {
  readonly connection: ClusterConnection
  readonly owner: InventoryOwner
  readonly mark: InventoryMark
  readonly shards: readonly Inventory[]
  readonly inventory: readonly InventoryRef[]
  /** By `refText`: what was read. */
  readonly objects: ReadonlyMap<string, KubeObject>
  readonly takeOver: TakeOver
  /** Takes fields back that users took, of objects that are ours. */
  readonly correct: boolean
  /** Writes in flight. */
  readonly atOnce?: number
  readonly signal?: AbortSignal
}

/** Requests in flight against one cluster, unless the pass shares them among several. */
const PARALLEL = 16

/** KubeNode's own programs must not override each other; the installer's objects are handed over to git. */
const OUR_MANAGERS: ReadonlySet<string> = new Set(
  Object.values(FIELD_MANAGERS).filter((m) => m !== FIELD_MANAGERS.cli && m !== FIELD_MANAGERS.sync),
)

export async function actOnCluster(plan: ClusterPlan, context: ActContext): Promise<ClusterResult> {
  const { inventory: seen, mark } = context
  const known = baselineIn(context.shards, context.owner)
  const before = refsBefore(seen, plan)
  // The commit of the shards changes with the second write, when it is true.
  const { pruning } = plan
  const isAhead = pruning !== undefined || !jsonEqual(before, seen) || !jsonEqual(mark.baseline ?? known, known)
  const shards = isAhead
    ? await writeInventory({ ...context, mark: { ...mark, pruning } }, context.shards, before, true)
    : context.shards
  const failures: ObjectFailure[] = []
  const applied = new Map<string, string | undefined>()
  // One that was applied before and whose last pass died has no digest, and is ours all the same.
  const owned = new Set(seen.filter((r) => r.digest !== undefined || r.uid !== undefined).map(refText))
  const applies = plan.actions.filter((a) => a.kind === 'Apply')
  for (const rank of byRank(applies))
    await inParallel(rank, context.atOnce ?? PARALLEL, async (action) => {
      const failure = await applyOne(action, owned.has(refText(action.desired.ref)), applied, context)
      if (failure !== undefined)
        failures.push({ ...failure, message: redacted(failure.message, action.desired.object) })
    })
  const pruned = new Set<string>()
  for (const action of plan.actions) {
    if (action.kind !== 'Prune' || context.signal?.aborted === true) continue
    // A set that was not applied may be the one that takes over its machines: the next run tries both again.
    if (isMachineSet(action.ref) && failures.some((f) => isMachineSet(f.ref))) continue
    const failure = await pruneOne(action, pruned, context)
    if (failure !== undefined) failures.push(failure)
  }
  await writeInventory(context, shards, refsAfter(seen, plan, { applied, pruned }))
  await endTaken(context)
  return { applied: applied.size, pruned: pruned.size, failures }
}

const byRank = (actions: readonly ApplyAction[]): readonly (readonly ApplyAction[])[] =>
  [...Map.groupBy(actions, (a) => orderOf(a.desired.ref))].toSorted(([a], [b]) => a - b).map(([, group]) => group)

async function applyOne(
  { desired, commit }: ApplyAction,
  isOurs: boolean,
  applied: Map<string, string | undefined>,
  context: ActContext,
): Promise<ObjectFailure | undefined> {
  const { ref } = desired
  const { connection, correct, signal, owner, takeOver } = context
  if (signal?.aborted === true) return { ref, kind: 'Unreachable', message: 'stopped before the object was applied' }
  try {
    const type = await connection.types.of(desired.object.apiVersion, ref.kind, signal)
    const misplaced = namespaceProblem(type, ref)
    if (misplaced !== undefined) return { ref, kind: 'Refused', message: misplaced }
    await takeFields(type, ref, context)
    const live = context.objects.get(refText(ref))
    const wasFound =
      live !== undefined &&
      isFound(
        live,
        context.inventory.find((r) => refText(r) === refText(ref)),
      )
    const marks = { commit, correct, source: owner.source }
    const object = marked(desired.object, { ...marks, wasFound })
    const options = {
      fieldManager: sourceManager(owner.source),
      fieldValidation: 'Strict',
      ...defined({ signal }),
    } as const
    let outcome = await applyObject(connection.client, type, object, options)
    const forceable = new Set<string>([FIELD_MANAGERS.cli, ...formerManagers(takeOver.replaces)])
    if (
      mayForce(
        outcome,
        forceable,
        correct && (isOurs || (await isNoted(connection.client, type, ref, outcome, signal))),
      )
    )
      outcome = await applyObject(connection.client, type, object, { ...options, force: true })
    // Made by another writer since it was read: a server that made it for us knows no other.
    if (outcome.kind === 'Applied' && live === undefined && !isOurs && hasOtherWriter(outcome.object))
      outcome = await applyObject(
        connection.client,
        type,
        marked(desired.object, { ...marks, wasFound: true }),
        options,
      )
    // What others added stays under an apply; where an edit would roll out, that is an edit too.
    if (outcome.kind === 'Applied' && correct && !hasDeclaredContent(desired.object, outcome.object))
      outcome = await replaceSpec(context, type, desired.object, outcome.object)
    if (outcome.kind === 'Applied') {
      applied.set(refText(ref), outcome.object.metadata.uid)
      return undefined
    }
    return failureOf(ref, outcome)
  } catch (error) {
    return { ref, kind: 'Refused', message: messageOf(error) }
  }
}

/** Without one, a server puts the object into `default`; with one too many, it leaves it out. Both would go round spec.writes. */
function namespaceProblem({ namespaced }: ResourceType, { kind, namespace }: ObjectRef): string | undefined {
  if (namespaced === (namespace !== '')) return undefined
  const problem = namespaced ? 'has no metadata.namespace' : 'is cluster-scoped and has a metadata.namespace'
  return numbered(deliveryErrors.KN7405({ kind, problem }))
}

/** Before the apply, so that fields that git dropped in the same commit go with it. A write in between is seen by the next pass. */
async function takeFields(type: ResourceType, ref: ObjectRef, context: ActContext): Promise<void> {
  const { connection, objects, owner, takeOver, signal } = context
  const live = objects.get(refText(ref))
  const managedFields = takenOver(live?.metadata.managedFields ?? [], owner.source, formerManagers(takeOver.replaces))
  if (live?.metadata.resourceVersion === undefined || managedFields === undefined) return
  const metadata = { resourceVersion: live.metadata.resourceVersion, managedFields: managedFields as unknown as Json }
  const key = { name: ref.name, ...(ref.namespace !== '' && { namespace: ref.namespace }) }
  const fieldManager = sourceManager(owner.source)
  const patch = { type: 'merge', value: { metadata } } as const
  await connection.client.patch(type, key, patch, { fieldManager, ...defined({ signal }) })
}

/** Replicas that git leaves alone belong to the scaler. */
async function replaceSpec(
  { connection: { client }, owner, signal }: ActContext,
  type: ResourceType,
  declared: KubeObject,
  live: KubeObject,
): Promise<ApplyOutcome<KubeObject>> {
  const spec = isObject(declared['spec']) ? declared['spec'] : {}
  const scaled = isObject(live['spec']) && spec['replicas'] === undefined ? live['spec']['replicas'] : undefined
  const { managedFields: _, ...metadata } = live.metadata
  const object = { ...live, metadata, spec: { ...spec, ...defined({ replicas: scaled }) } }
  const outcome = await outcomeOf(() =>
    client.update(type, object, { fieldManager: sourceManager(owner.source), ...defined({ signal }) }),
  )
  return outcome.kind === 'Applied' || outcome.kind === 'Denied' || outcome.kind === 'Unknown'
    ? outcome
    : { kind: 'Conflict', conflicts: [], error: outcome.error }
}

/** An object whose Inventory was deleted is still ours when it carries what sync noted on it: without that its edit would stay for good. */
async function isNoted(
  client: KubeClient,
  type: ResourceType,
  { name, namespace }: ObjectRef,
  outcome: ApplyOutcome<KubeObject>,
  signal: AbortSignal | undefined,
): Promise<boolean> {
  if (outcome.kind !== 'Conflict' || !isRolloutKind(type.kind)) return false
  const key = { name, ...(namespace !== '' && { namespace }) }
  const live = await client.get(type, key, signal === undefined ? {} : { signal })
  return live !== undefined && readKept(live) !== undefined
}

function mayForce(outcome: ApplyOutcome<KubeObject>, forceable: ReadonlySet<string>, isCorrected: boolean): boolean {
  if (outcome.kind !== 'Conflict' || outcome.conflicts.length === 0) return false
  const managers = outcome.conflicts.map((c) => c.manager)
  if (managers.some((m) => OUR_MANAGERS.has(m) || (isSourceManager(m) && !forceable.has(m)))) return false
  return isCorrected || managers.every((m) => forceable.has(m))
}

function failureOf(ref: ObjectRef, outcome: Exclude<ApplyOutcome<KubeObject>, { kind: 'Applied' }>): ObjectFailure {
  if (outcome.kind === 'Conflict' && outcome.conflicts.length > 0)
    return { ref, kind: 'Conflict', message: describeConflicts(outcome.conflicts) }
  const kind = outcome.kind === 'Unknown' ? 'Unreachable' : outcome.kind === 'Denied' ? 'Refused' : 'Conflict'
  return { ref, kind, message: isApiError(outcome.error) ? outcome.error.serverMessage : messageOf(outcome.error) }
}

/** The declared spec is added where controllers must know it while the live one is edited. */
function marked(
  object: KubeObject,
  {
    commit,
    correct,
    source,
    wasFound,
  }: { readonly commit: string; readonly correct: boolean; readonly source: string; readonly wasFound: boolean },
): KubeObject {
  const kept = correct && isRolloutKind(object.kind) ? keptContent(object) : undefined
  const annotations = {
    ...object.metadata.annotations,
    [ANNOTATIONS.commit]: commit,
    [ANNOTATIONS.source]: source,
    ...(wasFound && { [ANNOTATIONS.found]: 'true' }),
    ...(kept === undefined ? {} : { [ANNOTATIONS.committed]: kept }),
  }
  return { ...object, metadata: { ...object.metadata, annotations } }
}

async function pruneOne(
  { ref, uid, resourceVersion }: PruneAction,
  pruned: Set<string>,
  { connection, signal }: ActContext,
): Promise<ObjectFailure | undefined> {
  const type = await connection.types.ofGroup(ref.group, ref.kind, signal)
  if (type === undefined) return undefined
  const key = { name: ref.name, ...(ref.namespace === '' ? {} : { namespace: ref.namespace }) }
  const outcome = await outcomeOf(() =>
    connection.client.delete(type, key, {
      preconditions: { uid, resourceVersion },
      propagationPolicy: 'Background',
      ...defined({ signal }),
    }),
  )
  // An object that finalizers keep stays in the inventory until it is deleted.
  if (outcome.kind === 'Applied') {
    if (outcome.object !== 'Deleting') pruned.add(refText(ref))
    return undefined
  }
  return { ref, kind: outcome.kind === 'Unknown' ? 'Unreachable' : 'Refused', message: messageOf(outcome.error) }
}

/** Last, when all of it is in this target's own Inventory. */
async function endTaken({ connection: { program }, owner, shards, takeOver, signal }: ActContext): Promise<void> {
  const { keep, remove } = leftOfTaken(shards, owner, takeOver)
  const call = signal === undefined ? {} : { signal }
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
