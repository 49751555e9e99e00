// Applies one declared object for a source: with the source's marks, fields of former managers taken over, and edits of users undone where drift is corrected.
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
  /** Takes fields back that users took, of objects that are ours. */
  readonly correct: boolean
  readonly signal?: AbortSignal
}

/** KubeNode's own programs must not override each other; the installer's objects are handed over to git. */
const OUR_MANAGERS: ReadonlySet<string> = new Set(
  Object.values(FIELD_MANAGERS).filter((m) => m !== FIELD_MANAGERS.cli && m !== FIELD_MANAGERS.sync),
)

/** With the entry of the Inventory, if there is one. Text: why it was not even tried. */
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
  // One that was applied before and whose last pass died has no digest, and is ours all the same.
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
  // Made by another writer since it was read: a server that made it for us knows no other.
  if (outcome.kind === 'Applied' && live === undefined && !isOurs && hasOtherWriter(outcome.object))
    outcome = await writeObject({ ...writer, takes: () => false }, type, marked(declared, { ...marks, wasFound: true }))
  // What others added stays under an apply; where an edit would roll out, that is an edit too.
  if (outcome.kind === 'Applied' && correct && !hasDeclaredContent(declared, outcome.object))
    outcome = await replaceSpec(context, type, declared, outcome.object)
  return outcome
}

/** Without one, a server puts the object into `default`; with one too many, it leaves it out. Both would go round spec.writes. */
function namespaceProblem({ namespaced }: ResourceType, { kind, namespace }: ObjectRef): string | undefined {
  if (namespaced === (namespace !== '')) return undefined
  const problem = namespaced ? 'has no metadata.namespace' : 'is cluster-scoped and has a metadata.namespace'
  return numbered(deliveryErrors.KN7405({ kind, problem }))
}

/** Before the apply, so that fields that git dropped in the same commit go with it. A write in between is seen by the next pass. */
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

/** Replicas that git leaves alone belong to the scaler. */
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

/** An object whose Inventory was deleted is still ours when it carries what sync noted on it: without that its edit would stay for good. */
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

/** The declared spec is added where controllers must know it while the live one is edited. */
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
