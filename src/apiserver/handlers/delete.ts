// DELETE of one object and of many: preconditions, grace, finalizers, propagation.
import { isObject } from '#lib/json.ts'
import { timestamp } from '#lib/clock.ts'
import type { KubeObject, ObjectMeta } from '#api/schema/object.ts'
import type { Draft } from '../builtin/kind.ts'
import { listOptions } from '../http/query.ts'
import { withMetadata } from '../meta/identity.ts'
import type { Served } from '../registry/served.ts'
import { conflict, forbidden, methodNotAllowed, notFound } from '../status/refusal.ts'
import type { Stored } from '../storage/stored.ts'
import type { Place } from '../storage/store.ts'
import type { Answer, Call } from './context.ts'
import { deleteOptions, type DeleteOptions, type Propagation } from './delete-options.ts'
import { encoded, objectAnswer, JSON_TYPE, convertedView } from './encode.ts'
import { admissionRequest } from './judge.ts'
import { convertSelectable, listAnswerOf, selected } from './list.ts'
import { encodingOf, groupResource, isFinished, placeOf, unstored } from './stored-place.ts'
import { untilWritten } from './until-written.ts'

export async function handleDelete(call: Call): Promise<Answer> {
  const { served, path } = call
  const options = await deleteOptions(call)
  const at = placeOf(served, path.namespace, path.name)
  const gone = await deleteObject(call, at, options)
  if (gone === undefined) throw notFound(groupResource(served), path.name)
  return deletedAnswer(call, gone)
}

/** Kinds whose deletion answers with the deleted object. */
const RETURNS_OBJECT = new Set([
  '/pods',
  '/serviceaccounts',
  '/resourcequotas',
  '/podtemplates',
  '/persistentvolumes',
  '/persistentvolumeclaims',
])

async function deletedAnswer(call: Call, { stored, removed }: Deleted): Promise<Answer> {
  const { served } = call
  if (!removed || RETURNS_OBJECT.has(served.resource)) return objectAnswer(call, 200, stored)
  const { group, plural } = served.type
  return encoded(call, 200, {
    kind: 'Status',
    apiVersion: 'v1',
    metadata: {},
    status: 'Success',
    details: { name: stored.name, ...(group === '' ? {} : { group }), kind: plural, uid: stored.value.metadata.uid },
  })
}

export interface Deleted {
  readonly stored: Stored
  /** False: it waits for finalizers or the end of its grace period. */
  readonly removed: boolean
}

/** The requester of a deletion: the server's own loops delete too, without a request. */
export type Deleting = Pick<Call, 'parts' | 'served' | 'user' | 'path' | 'query' | 'warnings'>

/** Undefined when there is no such object. */
export const deleteObject = (call: Deleting, at: Place, options: DeleteOptions): Promise<Deleted | undefined> =>
  untilWritten(call, at, (stored) => deleteOnce(call, at, { options, stored }))

interface DeleteStep {
  readonly options: DeleteOptions
  readonly stored: Stored
}

async function deleteOnce(call: Deleting, at: Place, { options, stored }: DeleteStep): Promise<Deleted | undefined> {
  const { served, parts } = call
  const old = await convertedView(served, stored)
  checkPreconditions(served, at, options, stored)
  refuseProtected(served, at.name)
  const plain = { dryRun: options.dryRun, fieldManager: '', fieldValidation: 'Ignore', force: false } as const
  const admission = {
    ...admissionRequest(call, 'DELETE', plain, old),
    options: sentOptions(options),
    name: at.name,
    namespace: at.namespace,
  }
  await parts.admission.mutate(admission)
  await parts.admission.validate(admission)
  const next = dying(served, old, options, parts.clock.now())
  const removed = isFinished(next)
  if (options.dryRun) return { stored: removed ? stored : unstored(served, at, withVersion(next, stored)), removed }
  if (!removed) {
    if (next === old) return { stored, removed }
    const outcome = await parts.store.put(at, stored, await encodingOf(served, next))
    return 'done' in outcome ? { stored: outcome.done, removed } : undefined
  }
  // clients waiting for the end of a grace period see it become zero, then the deletion
  let last = stored
  if ((old.metadata.deletionGracePeriodSeconds ?? 0) > 0) {
    const shortened = await parts.store.put(at, stored, await encodingOf(served, next))
    if (!('done' in shortened)) return undefined
    last = shortened.done
  }
  const wasDying = old.metadata.deletionTimestamp !== undefined
  const outcome = await parts.store.delete(at, last, await encodingOf(served, wasDying ? next : old))
  return 'done' in outcome ? { stored: last, removed } : undefined
}

/** As webhooks and policies receive them. */
const sentOptions = ({ dryRun, gracePeriodSeconds, propagation, uid, resourceVersion }: DeleteOptions) => ({
  kind: 'DeleteOptions',
  apiVersion: 'meta.k8s.io/v1',
  ...(gracePeriodSeconds === undefined ? {} : { gracePeriodSeconds }),
  ...(uid === undefined && resourceVersion === undefined
    ? {}
    : {
        preconditions: {
          ...(uid === undefined ? {} : { uid }),
          ...(resourceVersion === undefined ? {} : { resourceVersion }),
        },
      }),
  ...(propagation === undefined ? {} : { propagationPolicy: propagation }),
  ...(dryRun ? { dryRun: ['All'] } : {}),
})

const withVersion = (o: Draft, stored: Stored): Draft =>
  withMetadata(o, { ...o.metadata, resourceVersion: String(stored.revision) })

function checkPreconditions(served: Served, at: Place, { uid, resourceVersion }: DeleteOptions, stored: Stored): void {
  const meta = stored.value.metadata
  // reported under the name of the kind, where all else uses that of the resource
  const ofKind = { group: served.type.group, plural: served.type.kind }
  if (uid !== undefined && uid !== meta.uid)
    throw conflict(
      ofKind,
      at.name,
      `the UID in the precondition (${uid}) does not match the UID in record (${meta.uid}). The object might have been deleted and then recreated`,
    )
  if (resourceVersion !== undefined && resourceVersion !== String(stored.revision))
    throw conflict(
      ofKind,
      at.name,
      `the ResourceVersion in the precondition (${resourceVersion}) does not match the ResourceVersion in record (${stored.revision}). The object might have been modified`,
    )
}

const PROTECTED = new Set(['default', 'kube-system', 'kube-public'])

function refuseProtected(served: Served, name: string): void {
  if (served.resource === '/namespaces' && PROTECTED.has(name))
    throw forbidden(groupResource(served), name, 'this namespace may not be deleted')
}

/** The object as the deletion leaves it: `isFinished` is false while a finalizer or grace period remains. */
function dying(served: Served, old: KubeObject, options: DeleteOptions, now: number): Draft {
  const meta = old.metadata
  const finalizers = finalizersFor(served, meta, options.propagation)
  const changed = finalizers.length !== (meta.finalizers ?? []).length
  const asked = served.gracePeriod?.(old, options.gracePeriodSeconds) ?? 0
  const grace = meta.deletionGracePeriodSeconds === undefined ? asked : Math.min(asked, meta.deletionGracePeriodSeconds)
  if (meta.deletionTimestamp !== undefined && !changed && grace === meta.deletionGracePeriodSeconds) return old
  const first = meta.deletionTimestamp === undefined
  const { finalizers: _f, ...rest } = meta
  const at =
    first || grace !== meta.deletionGracePeriodSeconds ? timestamp(deadline(meta, grace, now)) : meta.deletionTimestamp
  const marked = withMetadata(old, {
    ...rest,
    ...(meta.generation !== undefined && first ? { generation: meta.generation + 1 } : {}),
    deletionTimestamp: at,
    deletionGracePeriodSeconds: grace,
    ...(finalizers.length === 0 ? {} : { finalizers }),
  })
  return served.resource === '/namespaces' ? terminating(marked) : marked
}

/** A shorter grace counts from when the deletion began. */
function deadline(meta: ObjectMeta, grace: number, now: number): number {
  if (meta.deletionTimestamp === undefined) return now + grace * 1_000
  const began = Date.parse(meta.deletionTimestamp) - (meta.deletionGracePeriodSeconds ?? 0) * 1_000
  return began + grace * 1_000
}

const terminating = (o: Draft): Draft => ({
  ...o,
  status: { ...(isObject(o['status']) ? o['status'] : {}), phase: 'Terminating' },
})

function finalizersFor(served: Served, meta: ObjectMeta, asked: Propagation | undefined): readonly string[] {
  const old = meta.finalizers ?? []
  if (asked === undefined && (old.includes('orphan') || old.includes('foregroundDeletion'))) return old
  const propagation = asked ?? served.defaultPropagation
  const others = old.filter((f) => f !== 'orphan' && f !== 'foregroundDeletion')
  switch (propagation) {
    case 'Orphan':
      return [...others, 'orphan']
    case 'Foreground':
      return [...others, 'foregroundDeletion']
    case 'Background':
      return others
    default:
      return others
  }
}

export async function handleDeleteCollection(call: Call): Promise<Answer> {
  const { served, query, path } = call
  if (served.type.namespaced && path.namespace === '') throw methodNotAllowed()
  const list = listOptions(query, false)
  const options = await deleteOptions(call)
  await convertSelectable(call, list)
  const { items: found, metadata } = selected(call, list)
  const gone: Stored[] = []
  for (let i = 0; i < found.length; i += DELETE_WORKERS) {
    const done = await Promise.all(
      found.slice(i, i + DELETE_WORKERS).map((s) => deleteObject(call, placeOf(served, s.namespace, s.name), options)),
    )
    gone.push(...done.filter((d) => d !== undefined).map((d) => d.stored))
  }
  const body = listAnswerOf(served, gone, metadata)
  return call.accept.as === 'object'
    ? { code: 200, body, type: JSON_TYPE }
    : encoded(call, 200, JSON.parse(Buffer.concat([...body.parts]).toString('utf8')))
}

/** Parallel deletions of a collection. */
const DELETE_WORKERS = 50
