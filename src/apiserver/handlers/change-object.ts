// Changes an object: from the client's change on the current version to the acknowledged write, repeated when another writer was
// faster. When the last finalizer is removed, the object is deleted instead.
import { jsonEqual } from '#lib/json.ts'
import { invalid as invalidField } from '../schema/field-error.ts'
import type { KubeObject, ManagedFieldsEntry } from '#api/schema/object.ts'
import type { Draft } from '../builtin/kind.ts'
import type { WriteOptions } from '../http/query.ts'
import { keptMetadata, specChanged, withMetadata, withoutKeys } from '../meta/identity.ts'
import { metadataUpdateProblems } from '../meta/validate.ts'
import type { Served } from '../registry/served.ts'
import { conflict, internal, invalid, MODIFIED } from '../status/refusal.ts'
import type { Place } from '../storage/store.ts'
import type { Stored } from '../storage/stored.ts'
import { strategyContext, type Call } from './context.ts'
import { convertedView } from './encode.ts'
import {
  admissionRequest,
  refuseForbidden,
  refuseInvalid,
  refuseOtherKind,
  warnAboutOwners,
  type Written,
} from './judge.ts'
import { STATUS_ENDPOINTS, tracked, type Managing } from './managed.ts'
import { encodingOf, groupResource, isFinished, registryKey, unstored } from './stored-place.ts'
import { untilWritten } from './until-written.ts'

export interface Change {
  readonly options: WriteOptions
  readonly tracking: 'plain' | 'applied'
  readonly managing: Managing
  readonly subresource: string
  /** Which part may change; decided by the subresource when absent. */
  readonly part?: 'main' | 'status'
  /** The client's new object, made from the current one. Called again when another writer was faster. */
  readonly next: (old: KubeObject, stored: Stored) => Draft | Promise<Draft>
  /** The client named the version that it changes: a newer one is a conflict, not a reason to retry. */
  readonly checkUid?: boolean
}

/** Undefined when there is no such object. */
export const changeObject = (call: Call, at: Place, change: Change): Promise<Written | undefined> =>
  untilWritten(call, at, (stored) => changeOnce(call, at, change, stored))

async function changeOnce(call: Call, at: Place, change: Change, stored: Stored): Promise<Written | undefined> {
  const { served, parts, user } = call
  const { options } = change
  const subresource = change.part ?? (STATUS_ENDPOINTS.has(change.subresource) ? 'status' : 'main')
  const ctx = strategyContext(parts, user, options.dryRun)
  const { conversion } = served.behaviour
  const old = conversion === undefined ? served.behaviour.fromStored(stored.value) : await convertedView(served, stored)
  const wanted = await change.next(old, stored)
  const asked = checkVersions(call, at, change, { wanted, old, stored })
  refuseOtherKind(served, at.name, wanted)
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
  const outcome = await parts.store.put(at, stored, await encodingOf(served, object, call.level.objectBytes))
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
  if (asked === '' && !served.unconditionalUpdate)
    throw invalid({ group: served.type.group, kind: served.type.plural }, at.name, [
      invalidField('metadata.resourceVersion', 0, 'must be specified for an update'),
    ])
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

/** Fields that this endpoint may not change come from the old object. */
function confined(served: Served, object: Draft, old: KubeObject, subresource: string): Draft {
  if (served.behaviour.confine !== undefined) return served.behaviour.confine(object, old)
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
    const outcome = await parts.store.delete(at, stored, await encodingOf(served, object, call.level.objectBytes))
    if (!('done' in outcome)) return undefined
  }
  return { stored: unstored(served, at, last), created: false }
}

/** Nothing to store: only times in managedFields differ. */
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
