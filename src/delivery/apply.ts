// Applies one declared object for a source: with the source's marks, takes over fields of former managers, and reverts user edits if drift is
// corrected.
import { ANNOTATIONS, FIELD_MANAGERS } from '#api/names.ts'
import { isRolloutKind, keptContent, readKept } from '#api/protocol/committed.ts'
import type { KubeObject } from '#api/schema/object.ts'
import type { ResourceType } from '#api/schema/resource.ts'
import type { ApplyOutcome, FieldConflict } from '#kube/apply.ts'
import { outcomeOf } from '#kube/outcome.ts'
import { defined } from '#lib/defined.ts'
import { numbered } from '#lib/errors.ts'
import { isObject, type Json } from '#lib/json.ts'
import type { ClusterConnection } from './connection.ts'
import { deliveryErrors } from './delivery-errors.ts'
import { isSourceManager, sourceManager } from './manager.ts'
import { type InventoryRef, keyOfRef, type ObjectRef, refText } from './object-ref.ts'
import { hasDeclaredContent, type Observed } from './observe.ts'
import type { Write } from './operation.ts'
import { formerManagers, hasOtherWriter, isFound, takenOver } from './ownership.ts'
import type { InventoryOwner } from './targets.ts'
import { type Writer, writeObject } from './write.ts'

export interface ApplyContext {
  readonly connection: ClusterConnection
  readonly owner: InventoryOwner
  readonly seen: Pick<Observed, 'shards' | 'inventory' | 'objects' | 'takeOver'>
  /** Reclaims fields that users took over, on objects that sync owns. */
  readonly correct: boolean
  readonly signal?: AbortSignal
}

/** KubeNode's own programs must not override each other. The installer hands its objects over to git. */
const OUR_MANAGERS: ReadonlySet<string> = new Set(
  Object.values(FIELD_MANAGERS).filter((m) => m !== FIELD_MANAGERS.cli && m !== FIELD_MANAGERS.sync),
)

/** With the entry of the Inventory, if there is one. Returns a text if the apply was not even tried. */
export async function applyDeclared(
  { desired: { ref, object: declared }, commit }: Write,
  recorded: InventoryRef | undefined,
  context: ApplyContext,
): Promise<ApplyOutcome<KubeObject> | string> {
  const { connection, correct, signal, owner, seen } = context
  const { client } = connection
  const type = await connection.types.of(declared.apiVersion, ref.kind, signal)
  const misplaced = namespaceProblem(type, ref)
  if (misplaced !== undefined) return misplaced
  await takeFields(type, ref, context)
  const live = seen.objects.get(refText(ref))
  // If the last pass died, an object that was applied before has a uid but no digest. Sync still owns it.
  const isOurs = recorded?.digest !== undefined || recorded?.uid !== undefined
  const wasFound = live !== undefined && isFound(live, recorded)
  const marks = { commit, correct, source: owner.source }
  const forceable = new Set<string>([FIELD_MANAGERS.cli, ...formerManagers(seen.takeOver.replaces)])
  const isCorrected = async (): Promise<boolean> => correct && (isOurs || (await isNoted(context, type, ref)))
  const writer: Writer = {
    client,
    fieldManager: sourceManager(owner.source),
    fieldValidation: 'Strict',
    takes: async (conflicts) => mayForce(conflicts, forceable, isCorrected),
    ...defined({ signal }),
  }
  let outcome = await writeObject(writer, type, marked(declared, { ...marks, wasFound }))
  // Another writer created it after it was read: an object that we just created has no other manager.
  if (outcome.kind === 'Applied' && live === undefined && !isOurs && hasOtherWriter(outcome.object))
    outcome = await writeObject({ ...writer, takes: () => false }, type, marked(declared, { ...marks, wasFound: true }))
  // Fields that others added survive an apply. If an edit would roll out, such a field counts as an edit too.
  if (outcome.kind === 'Applied' && correct && !hasDeclaredContent(declared, outcome.object))
    outcome = await replaceSpec(context, type, declared, outcome.object)
  return outcome
}

/** Without a namespace, a server puts the object into `default`; a superfluous one is dropped. Both would bypass spec.writes. */
function namespaceProblem({ namespaced }: ResourceType, { kind, namespace }: ObjectRef): string | undefined {
  if (namespaced === (namespace !== '')) return undefined
  const problem = namespaced ? 'has no metadata.namespace' : 'is cluster-scoped and has a metadata.namespace'
  return numbered(deliveryErrors.KN7405({ kind, problem }))
}

/** Runs before the apply, so that fields that git dropped in the same commit are removed too. The next pass handles a write in between. */
async function takeFields(
  type: ResourceType,
  ref: ObjectRef,
  { connection: { client }, owner, seen, signal }: ApplyContext,
): Promise<void> {
  const live = seen.objects.get(refText(ref))
  const former = formerManagers(seen.takeOver.replaces)
  const managedFields = takenOver(live?.metadata.managedFields ?? [], owner.source, former)
  if (live?.metadata.resourceVersion === undefined || managedFields === undefined) return
  const metadata = { resourceVersion: live.metadata.resourceVersion, managedFields: managedFields as unknown as Json }
  const fieldManager = sourceManager(owner.source)
  const patch = { type: 'merge', value: { metadata } } as const
  await client.patch(type, keyOfRef(ref), patch, { fieldManager, ...defined({ signal }) })
}

/** Replicas that git does not set belong to the autoscaler. */
async function replaceSpec(
  { connection: { client }, owner, signal }: ApplyContext,
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

/** If its Inventory was deleted, sync still owns an object that carries sync's mark. Otherwise an edit of it would stay forever. */
async function isNoted(
  { connection: { client }, signal }: ApplyContext,
  type: ResourceType,
  ref: ObjectRef,
): Promise<boolean> {
  if (!isRolloutKind(type.kind)) return false
  const live = await client.get(type, keyOfRef(ref), defined({ signal }))
  return live !== undefined && readKept(live) !== undefined
}

/** Without owners the conflict is about versions. */
async function mayForce(
  conflicts: readonly FieldConflict[],
  forceable: ReadonlySet<string>,
  isCorrected: () => Promise<boolean>,
): Promise<boolean> {
  if (conflicts.length === 0) return false
  const managers = conflicts.map((c) => c.manager)
  if (managers.some((m) => OUR_MANAGERS.has(m) || (isSourceManager(m) && !forceable.has(m)))) return false
  return managers.every((m) => forceable.has(m)) || isCorrected()
}

interface Marks {
  readonly commit: string
  readonly correct: boolean
  readonly source: string
  readonly wasFound: boolean
}

/** Adds the declared spec if controllers need it while the live spec is edited. */
function marked(object: KubeObject, { commit, correct, source, wasFound }: Marks): KubeObject {
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
