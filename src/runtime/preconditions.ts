// Destructive writes that hit exactly the object that was decided about, or nothing: they carry its uid and resourceVersion.
import { KubeNodeError } from '#lib/errors.ts'
import type { DeleteOptions, KubeClient, WriteOptions } from '#kube/client.ts'
import { type WriteOutcome, outcomeOf } from '#kube/outcome.ts'
import type { KubeObject } from '#api/schema/object.ts'
import { type ResourceType, qualifiedPlural } from '#api/schema/resource.ts'
import { objectKey } from '#api/schema/object-meta.ts'
import { runtimeErrors } from './runtime-errors.ts'

export interface Preconditions {
  readonly uid: string
  readonly resourceVersion: string
}

/** Throws for an object that did not come from a server: nothing may be destroyed based on it. */
export function preconditionsOf(object: KubeObject): Preconditions {
  const { name, uid, resourceVersion } = object.metadata
  if (uid !== undefined && resourceVersion !== undefined) return { uid, resourceVersion }
  const missing = uid === undefined ? 'uid' : 'resourceVersion'
  throw new KubeNodeError(runtimeErrors.KN1000_copy({ kind: object.kind, name: name ?? '?', missing }))
}

export type Deleted = 'Deleted' | 'Deleting' | 'Gone'

/** Deletes the object as observed; `Conflict` if it changed since, `Stale` if another object has its name now. */
export function deleteExactly(
  client: KubeClient,
  type: ResourceType,
  object: KubeObject,
  options: Omit<DeleteOptions, 'preconditions'> = {},
): Promise<WriteOutcome<Deleted>> {
  const preconditions = preconditionsOf(object)
  return outcomeOf(() => client.delete(type, objectKey(object), { ...options, preconditions }))
}

/** Writes over exactly the version the object was made from. */
export function updateExactly<T extends KubeObject>(
  client: KubeClient,
  type: ResourceType<T>,
  object: T,
  options: WriteOptions = {},
): Promise<WriteOutcome<T>> {
  preconditionsOf(object)
  return outcomeOf(() => client.update(type, object, options))
}

export type Recheck<T> =
  | { readonly kind: 'Same'; readonly object: T }
  | { readonly kind: 'Stale'; readonly seen: string }

/** Reads the object again right before disrupting the thing it represents (a drain, a reboot), which takes no precondition. */
export async function recheck<T extends KubeObject>(
  client: KubeClient,
  type: ResourceType<T>,
  decidedOn: T,
  signal?: AbortSignal,
): Promise<Recheck<T>> {
  const { uid, resourceVersion } = preconditionsOf(decidedOn)
  const object = await client.get(type, objectKey(decidedOn), signal && { signal })
  const what = `${qualifiedPlural(type)}/${decidedOn.metadata.name}`
  if (object === undefined) return { kind: 'Stale', seen: `${what} is gone` }
  if (object.metadata.uid !== uid) return { kind: 'Stale', seen: `${what} was deleted and made again` }
  if (object.metadata.resourceVersion !== resourceVersion)
    return { kind: 'Stale', seen: `${what} changed since it was read` }
  return { kind: 'Same', object }
}
