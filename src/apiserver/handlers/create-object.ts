// Creates an object: from the decoded body to the acknowledged write.
import type { ObjectMeta } from '#api/schema/object.ts'
import { authorize } from '../auth/authorize.ts'
import type { Draft } from '../builtin/kind.ts'
import type { WriteOptions } from '../http/query.ts'
import { bornMetadata, generatedName, withMetadata, withoutKeys } from '../meta/identity.ts'
import { metadataProblems } from '../meta/validate.ts'
import { namespaceMissing, namespaceTerminating } from '../status/namespace-refusal.ts'
import type { Served } from '../registry/served.ts'
import { alreadyExists, forbidden, internal } from '../status/refusal.ts'
import type { Place } from '../storage/store.ts'
import { strategyContext, type Call } from './context.ts'
import {
  admissionRequest,
  refuseForbidden,
  refuseInvalid,
  refuseOtherKind,
  warnAboutOwners,
  type Written,
} from './judge.ts'
import { tracked, type Managing } from './managed.ts'
import { encodingOf, groupResource, placeOf, unstored } from './stored-place.ts'

/** How managedFields come about: plain writes track what changed, an apply brings its own. */
type Tracking = { readonly plain: Managing } | { readonly applied: true }

export interface Creation {
  readonly object: Draft
  readonly options: WriteOptions
  readonly tracking: Tracking
  /** The request was no creation, so the user's right to create has not been checked yet. */
  readonly isUpsert?: boolean
}

const GENERATE_ATTEMPTS = 8

export async function createObject(call: Call, creation: Creation): Promise<Written> {
  const { served, path, parts, user } = call
  const { options } = creation
  const ctx = strategyContext(parts, user, options.dryRun)
  refuseTerminating(served, creation.object)
  checkNamespace(call, creation.object)
  warnAboutOwners(call, creation.object.metadata)
  refuseOtherKind(served, creation.object.metadata.name ?? '', creation.object)
  const sent = creation.object.metadata.resourceVersion ?? ''
  let object = served.behaviour.applyDefaults(creation.object)
  if ('plain' in creation.tracking) object = tracked(call, undefined, stripped(object), creation.tracking.plain)
  const admission = admissionRequest(call, 'CREATE', options, undefined)
  // mutating admission runs before the object has a uid and a generated name
  object = withMetadata(object, withNamespace(object.metadata, served.type.namespaced ? path.namespace : ''))
  const asked = object.metadata.name ?? ''
  object = (await parts.admission.mutate({ ...admission, name: asked, object })) ?? object
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
    const prepared = served.behaviour.canonicalize(served.behaviour.prepareForCreate(born, ctx))
    refuseInvalid(served, name, [
      ...metadataProblems(served, prepared),
      ...served.behaviour.validate(prepared, undefined, ctx),
    ])
    refuseForbidden(served, prepared, served.behaviour.admit(prepared, undefined, ctx))
    if (creation.isUpsert === true) refuseWithoutRight(call)
    await parts.admission.validate({ ...admission, name, object: prepared })
    for (const w of served.behaviour.warnings(prepared, undefined)) call.warnings.add(w)
    if (sent !== '' && sent !== '0' && 'plain' in creation.tracking)
      throw internal('resourceVersion should not be set on objects to be created')
    const at = placeOf(served, path.namespace, name)
    if (options.dryRun) {
      if (parts.store.latest(at) !== undefined) return refuseSecond(call, at)
      return { stored: unstored(served, at, prepared), created: true }
    }
    const outcome = await parts.store.put(at, undefined, await encodingOf(served, prepared, call.level.objectBytes))
    if ('done' in outcome) return { stored: outcome.done, created: true }
    if (!generates || attempt >= GENERATE_ATTEMPTS) return refuseSecond(call, at)
  }
}

/** Watchers learn of it when the first one is durable: clients that learn of it may read it. */
async function refuseSecond({ parts, served }: Call, at: Place): Promise<never> {
  await parts.store.settled(at)
  throw alreadyExists(groupResource(served), at.name)
}

const withNamespace = (meta: ObjectMeta, namespace: string): ObjectMeta =>
  namespace === '' ? meta : { ...meta, namespace }

/** Values that a client sends for server-made fields are not a change by that client. */
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
    ]),
  )

/** A PUT or an apply of a missing object needs the right to create too. As on a kube-apiserver, problems of the object are reported first. */
function refuseWithoutRight({ parts, user, path, served }: Call): void {
  const { group, plural } = served.type
  const { namespace, name } = path
  authorize(parts.authorizer, user, { verb: 'create', group, resource: plural, subresource: '', namespace, name })
}

/** A kind that is being deleted accepts no new objects. */
function refuseTerminating(served: Served, { metadata }: Draft): void {
  if (served.terminating)
    throw forbidden(
      groupResource(served),
      metadata.name ?? '',
      'create not allowed while custom resource definition is terminating',
    )
}

/** A namespace that is missing or being deleted accepts no new objects. */
function checkNamespace({ served, path, parts }: Call, object: Draft): void {
  if (!served.type.namespaced) return
  const { namespace } = path
  const found = parts.store.latest({ resource: '/namespaces', namespace: '', name: namespace })?.value
  if (found === undefined) throw namespaceMissing(namespace)
  if (found.metadata.deletionTimestamp === undefined) return
  throw namespaceTerminating(groupResource(served), object.metadata.name ?? '', namespace)
}
