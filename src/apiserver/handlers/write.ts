// Storing an object: what create, update, patch and apply have in common, from the decoded object to the acknowledged write.
import { timestamp } from '#lib/clock.ts'
import { jsonEqual } from '#lib/json.ts'
import { apiVersionOf } from '#schema/resource.ts'
import type { FieldError } from '#schema/field-error.ts'
import type { KubeObject, ManagedFieldsEntry, ObjectMeta } from '#schema/object.ts'
import type { Draft } from '../builtin/kind.ts'
import { encodeJson } from '../codec/json.ts'
import { fieldSetOfPaths, trackUpdate, type FieldSet } from '../machinery.ts'
import {
  bornMetadata,
  generatedName,
  keptMetadata,
  repeatedOwners,
  specChanged,
  withMetadata,
  withoutKeys,
} from '../meta/identity.ts'
import { metadataProblems, metadataUpdateProblems } from '../meta/validate.ts'
import type { Operation } from '../admission/chain.ts'
import type { Served } from '../registry/served.ts'
import type { Encoded, Place } from '../storage/store.ts'
import { Stored } from '../storage/stored.ts'
import { alreadyExists, conflict, forbidden, internal, invalid, MODIFIED } from '../status/refusal.ts'
import { namespaceMissing, namespaceTerminating } from '../status/namespace-refusal.ts'
import { managerOf, strategyContext, type Call } from './context.ts'
import type { WriteOptions } from '../http/query.ts'

/** What a write came to: the version now stored, or for a dry run the one that would be. */
export interface Written {
  readonly stored: Stored
  readonly created: boolean
}

export const placeOf = (served: Served, namespace: string, name: string): Place => ({
  resource: served.resource,
  namespace: served.type.namespaced ? namespace : '',
  name,
})

/** A view of another group's objects is refused in that group's name. */
export const groupKind = (s: Served) => ({ group: s.resource.slice(0, s.resource.lastIndexOf('/')), kind: s.type.kind })

/** The bytes that are stored: the object as its storage version, with its revision. */
function encodeAt(served: Served, object: KubeObject): (revision: number) => Encoded {
  return (revision) => {
    const stored = served.behaviour.toStored(
      withMetadata(object, { ...object.metadata, resourceVersion: String(revision) }),
    )
    return { value: stored, bytes: encodeJson(stored) }
  }
}

/** A version that was not stored: the answer to a dry run. */
export function unstored(served: Served, at: Place, object: KubeObject): Stored {
  const value = served.behaviour.toStored(object)
  return new Stored(at, 0, encodeJson(value), value)
}

export interface Managing {
  readonly manager: string
  readonly subresource: string
  readonly time: string
}

export const managing = (call: Call, options: WriteOptions, subresource: string): Managing => ({
  manager: managerOf(call, options.fieldManager),
  subresource,
  time: timestamp(call.parts.clock.now()),
})

/** Endpoints that write the status and nothing else. */
const STATUS_ENDPOINTS: ReadonlySet<string> = new Set(['status', 'approval'])
const STATUS_ONLY = fieldSetOfPaths([['f:status']])
const SPEC_ONLY = fieldSetOfPaths([['f:spec']])

/** Fields that this endpoint does not write. */
export function resetFields(served: Served, subresource: string): FieldSet | undefined {
  if (STATUS_ENDPOINTS.has(subresource)) return SPEC_ONLY
  return served.subresources.has('status') ? STATUS_ONLY : undefined
}

const versionSchemas = (call: Call): ReadonlyMap<string, Served['schema']> | undefined => {
  const { type, custom } = call.served
  if (!custom) return undefined
  const all = call.parts.registry.versions(type.group).map((v) => call.parts.registry.find(type.group, v, type.plural))
  return new Map(all.filter((s) => s !== undefined).map((s) => [apiVersionOf(s.type), s.schema]))
}

/** Schema and versions as the managedFields machinery wants them. */
export const versioningOf = (call: Call, subresource: string) => ({
  apiVersion: apiVersionOf(call.served.type),
  schema: call.served.schema,
  versions: versionSchemas(call),
  resetFields: resetFields(call.served, subresource),
})

const zeros = new WeakMap<Served, Draft | undefined>()
/** The object of a built-in kind in which nothing was said. */
export function zeroObject(served: Served): Draft | undefined {
  if (served.custom) return undefined
  let zero = zeros.get(served)
  if (zero === undefined) {
    zero = served.behaviour.decode({}).object
    zeros.set(served, zero)
  }
  return zero
}

function tracked(call: Call, live: KubeObject | undefined, next: Draft, who: Managing): Draft {
  const managedFields = trackUpdate({
    ...versioningOf(call, who.subresource),
    live: live ?? zeroObject(call.served),
    next,
    manager: who.manager,
    subresource: who.subresource,
    time: who.time,
  })
  return withManagedFields(next, managedFields)
}

export function withManagedFields(object: Draft, managedFields: readonly ManagedFieldsEntry[] | undefined): Draft {
  const rest = withoutKeys(object.metadata, ['managedFields'])
  return withMetadata(
    object,
    managedFields === undefined || managedFields.length === 0 ? rest : { ...rest, managedFields },
  )
}

/** How managedFields come about: plain writes track what changed, an apply brings its own. */
export type Tracking = { readonly plain: Managing } | { readonly applied: true }

export interface Creation {
  readonly object: Draft
  readonly options: WriteOptions
  readonly tracking: Tracking
}

const GENERATE_ATTEMPTS = 8

export async function createObject(call: Call, creation: Creation): Promise<Written> {
  const { served, path, parts, user } = call
  const { options } = creation
  const ctx = strategyContext(parts, user, options.dryRun)
  checkNamespace(call, creation.object)
  warnAboutOwners(call, creation.object.metadata)
  const sent = creation.object.metadata.resourceVersion ?? ''
  let object = served.behaviour.applyDefaults(creation.object)
  if ('plain' in creation.tracking) object = tracked(call, undefined, stripped(object), creation.tracking.plain)
  const admission = admissionRequest(call, 'CREATE', options, undefined)
  const prefix = object.metadata.generateName ?? ''
  const generates = (object.metadata.name ?? '') === '' && prefix !== ''
  for (let attempt = 1; ; attempt++) {
    const name = generates ? generatedName(prefix, () => ctx.random()) : (object.metadata.name ?? '')
    const born = withMetadata(
      object,
      bornMetadata(object.metadata, {
        name,
        namespace: served.type.namespaced ? path.namespace : '',
        uid: parts.uid(),
        now: ctx.now,
        generation: served.generation,
      }),
    )
    const admitted = ((await parts.admission.mutate({ ...admission, name, object: born })) ?? born) as Draft
    const prepared = served.behaviour.canonicalize(served.behaviour.prepareForCreate(admitted, ctx))
    refuseInvalid(served, name, [
      ...served.behaviour.validate(prepared, undefined, ctx),
      ...metadataProblems(served, prepared),
    ])
    refuseForbidden(served, prepared, served.behaviour.admit(prepared, undefined, ctx))
    await parts.admission.validate({ ...admission, name, object: prepared })
    for (const w of served.behaviour.warnings(prepared, undefined)) call.warnings.add(w)
    if (sent !== '' && sent !== '0' && 'plain' in creation.tracking)
      throw internal('resourceVersion should not be set on objects to be created')
    const at = placeOf(served, path.namespace, name)
    if (options.dryRun) {
      if (parts.store.latest(at) !== undefined) throw alreadyExists(groupResource(served), name)
      return { stored: unstored(served, at, prepared), created: true }
    }
    const outcome = await parts.store.put(at, undefined, encodeAt(served, prepared))
    if ('done' in outcome) return { stored: outcome.done, created: true }
    if (!generates || attempt >= GENERATE_ATTEMPTS) throw alreadyExists(groupResource(served), name)
  }
}

/** What a client says about fields that the server makes is not a change that somebody made. */
const stripped = (object: Draft): Draft =>
  withMetadata(
    object,
    withoutKeys(object.metadata, [
      'deletionTimestamp',
      'deletionGracePeriodSeconds',
      'selfLink',
      'uid',
      'resourceVersion',
      'creationTimestamp',
      'generation',
    ]),
  )

export const groupResource = (s: Served) => ({ group: s.type.group, plural: s.type.plural })

function refuseInvalid(served: Served, name: string, problems: readonly FieldError[]): void {
  if (problems.length > 0) throw invalid(groupKind(served), name, problems)
}

function refuseForbidden(served: Served, object: KubeObject, why: string | undefined): void {
  if (why !== undefined) throw forbidden(groupResource(served), object.metadata.name ?? '', why)
}

function warnAboutOwners(call: Call, meta: ObjectMeta): void {
  const repeated = repeatedOwners(meta.ownerReferences)
  if (repeated.length > 0)
    call.warnings.add(
      `.metadata.ownerReferences contains duplicate entries; API server dedups owner references in 1.20+, and may reject such requests as early as 1.24; please fix your requests; duplicate UID(s) observed: ${repeated.join(', ')}`,
    )
}

/** Nothing is made in a namespace that is not there or on its way out. */
function checkNamespace({ served, path, parts }: Call, object: Draft): void {
  if (!served.type.namespaced) return
  const { namespace } = path
  const found = parts.store.latest({ resource: '/namespaces', namespace: '', name: namespace })?.value
  if (found === undefined) throw namespaceMissing(namespace)
  if (found.metadata.deletionTimestamp === undefined) return
  throw namespaceTerminating(groupResource(served), object.metadata.name ?? '', namespace)
}

export interface Change {
  readonly options: WriteOptions
  readonly tracking: 'plain' | 'applied'
  readonly managing: Managing
  readonly subresource: string
  /** Which part may change; by the subresource when absent. */
  readonly part?: 'main' | 'status'
  /** The object that the client wants, from the one that is there. Runs again when somebody else was faster. */
  readonly next: (old: KubeObject, stored: Stored) => Draft | Promise<Draft>
  /** The client named the version that it changes: a newer one is a conflict, not a reason to try again. */
  readonly checkUid?: boolean
}

/** A fast writer may be passed by others; after so many rounds something is wrong. */
const UPDATE_ATTEMPTS = 100

/** Undefined when there is no such object. */
export async function changeObject(call: Call, at: Place, change: Change): Promise<Written | undefined> {
  for (let attempt = 0; attempt < UPDATE_ATTEMPTS; attempt++) {
    const stored = call.parts.store.latest(at)
    if (stored === undefined) return undefined
    const outcome = await changeOnce(call, at, change, stored)
    if (outcome !== undefined) return outcome
  }
  throw conflict(groupResource(call.served), at.name, MODIFIED)
}

async function changeOnce(call: Call, at: Place, change: Change, stored: Stored): Promise<Written | undefined> {
  const { served, parts, user } = call
  const { options } = change
  const subresource = change.part ?? (STATUS_ENDPOINTS.has(change.subresource) ? 'status' : 'main')
  const ctx = strategyContext(parts, user, options.dryRun)
  const old = served.behaviour.fromStored(stored.value)
  const wanted = await change.next(old, stored)
  const asked = checkVersions(call, at, change, { wanted, old, stored })
  warnAboutOwners(call, wanted.metadata)
  let object = confined(served, served.behaviour.applyDefaults(wanted), old, subresource)
  object = withMetadata(object, {
    ...keptMetadata(object.metadata, old.metadata),
    resourceVersion:
      asked === '' && !served.custom ? stored.revision.toString() : (object.metadata.resourceVersion ?? ''),
  })
  if (change.tracking === 'plain') object = tracked(call, old, object, change.managing)
  const admission = admissionRequest(call, 'UPDATE', options, old)
  object = (await parts.admission.mutate({ ...admission, object })) ?? object
  object = served.behaviour.canonicalize(prepared(served, object, old, subresource, ctx))
  if (served.generation && subresource !== 'status' && specChanged(object, old, served.subresources.has('status')))
    object = withMetadata(object, { ...object.metadata, generation: (old.metadata.generation ?? 0) + 1 })
  const meta = metadataUpdateProblems(served, object, old)
  const own =
    subresource === 'status'
      ? served.behaviour.validateStatus(object, old, ctx)
      : served.behaviour.validate(object, old, ctx)
  refuseInvalid(served, at.name, [...meta, ...own, ...meta])
  refuseForbidden(served, object, served.behaviour.admit(object, old, ctx))
  await parts.admission.validate({ ...admission, object })
  for (const w of served.behaviour.warnings(object, old)) call.warnings.add(w)
  if (isFinished(object)) return finish(call, at, { object, stored, options })
  if (unchanged(object, old)) return { stored, created: false }
  if (options.dryRun)
    return {
      stored: unstored(
        served,
        at,
        withMetadata(object, { ...object.metadata, resourceVersion: String(stored.revision) }),
      ),
      created: false,
    }
  const outcome = await parts.store.put(at, stored, encodeAt(served, object))
  if ('done' in outcome) return { stored: outcome.done, created: false }
  if (asked !== '') throw conflict(groupResource(served), at.name, MODIFIED)
  return undefined
}

interface Versions {
  readonly wanted: Draft
  readonly old: KubeObject
  readonly stored: Stored
}

/** The version that the client named, '' when it named none. */
function checkVersions({ served }: Call, at: Place, change: Change, { wanted, old, stored }: Versions): string {
  const given = wanted.metadata.resourceVersion ?? ''
  if (given !== '' && !/^\d+$/.test(given))
    throw internal(`strconv.ParseUint: parsing ${JSON.stringify(given)}: invalid syntax`)
  const asked = given === '0' ? '' : given
  if (asked !== '' && asked !== String(stored.revision)) throw conflict(groupResource(served), at.name, MODIFIED)
  const uid = wanted.metadata.uid ?? ''
  if (change.checkUid === true && uid !== '' && uid !== old.metadata.uid)
    throw conflict(
      groupResource(served),
      at.name,
      `StorageError: invalid object, Code: 4, Key: ${registryKey(served, at)}, ResourceVersion: 0, AdditionalErrorMsg: Precondition failed: UID in precondition: ${uid}, UID in object meta: ${old.metadata.uid}`,
    )
  return asked
}

/** The key under which the real server keeps an object; it shows in messages. */
export function registryKey(served: Served, at: Place): string {
  const prefix = served.custom
    ? `/registry/${served.type.group}/${served.type.plural}`
    : `/registry/${served.type.plural}`
  return at.namespace === '' ? `${prefix}/${at.name}` : `${prefix}/${at.namespace}/${at.name}`
}

/** What this endpoint may not change comes from the old object. */
function confined(served: Served, object: Draft, old: KubeObject, subresource: string): Draft {
  if (subresource === 'status') {
    const { status } = object
    const metadata = served.custom
      ? {
          ...withoutKeys(old.metadata, ['managedFields']),
          resourceVersion: object.metadata.resourceVersion,
          ...(object.metadata.managedFields === undefined ? {} : { managedFields: object.metadata.managedFields }),
        }
      : object.metadata
    const rest: Record<string, unknown> = { ...old, metadata }
    if (status === undefined) delete rest['status']
    else rest['status'] = status
    return rest as Draft
  }
  if (!served.subresources.has('status')) return object
  const rest: Record<string, unknown> = { ...object }
  if (old['status'] === undefined) delete rest['status']
  else rest['status'] = old['status']
  return rest as Draft
}

function prepared(
  served: Served,
  object: Draft,
  old: KubeObject,
  subresource: string,
  ctx: ReturnType<typeof strategyContext>,
): Draft {
  return subresource === 'status'
    ? served.behaviour.prepareForStatusUpdate(object, old, ctx)
    : served.behaviour.prepareForUpdate(object, old, ctx)
}

/** The last finalizer of an object that is being deleted has gone. */
export const isFinished = (o: KubeObject): boolean =>
  o.metadata.deletionTimestamp !== undefined &&
  (o.metadata.deletionGracePeriodSeconds ?? 0) === 0 &&
  (o.metadata.finalizers ?? []).length === 0 &&
  !hasSpecFinalizers(o)

/** Namespaces have finalizers in their spec too. */
const hasSpecFinalizers = (o: KubeObject): boolean =>
  o.kind === 'Namespace' &&
  ((o['spec'] as { readonly finalizers?: readonly string[] } | undefined)?.finalizers ?? []).length > 0

interface Finish {
  readonly object: Draft
  readonly stored: Stored
  readonly options: WriteOptions
}

/** The answer is the object as it would have been written, in its old version. */
async function finish(call: Call, at: Place, { object, stored, options }: Finish): Promise<Written | undefined> {
  const { served, parts } = call
  const last = withMetadata(object, { ...object.metadata, resourceVersion: String(stored.revision) })
  if (!options.dryRun) {
    const outcome = await parts.store.delete(at, stored, encodeAt(served, object))
    if (!('done' in outcome)) return undefined
  }
  return { stored: unstored(served, at, last), created: false }
}

export const encoderOf = encodeAt

/** Nothing to store: the same but for times in managedFields. */
function unchanged(object: KubeObject, old: KubeObject): boolean {
  const ignored = ['resourceVersion', 'managedFields'] as const
  return (
    jsonEqual({ ...object, metadata: undefined }, { ...old, metadata: undefined }) &&
    jsonEqual(withoutKeys(object.metadata, ignored), withoutKeys(old.metadata, ignored)) &&
    jsonEqual(timeless(object.metadata.managedFields), timeless(old.metadata.managedFields))
  )
}

const timeless = (entries: readonly ManagedFieldsEntry[] | undefined): unknown =>
  (entries ?? []).map((e) => ({ ...e, time: undefined }))

export function admissionRequest(call: Call, operation: Operation, options: WriteOptions, old: KubeObject | undefined) {
  return {
    operation,
    served: call.served,
    subresource: call.path.subresource,
    namespace: call.path.namespace,
    name: call.path.name,
    object: undefined,
    old,
    user: call.user,
    dryRun: options.dryRun,
    options: undefined,
    warn: (text: string) => void call.warnings.add(text),
  }
}
