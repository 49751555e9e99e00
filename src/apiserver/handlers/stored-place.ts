// Where an object is stored, what its kind is called in refusals, and its bytes as they are stored.
import type { KubeObject } from '#api/schema/object.ts'
import { encodeJson, encodeJsonToKeep } from '../codec/json.ts'
import { withMetadata } from '../meta/identity.ts'
import type { Served } from '../registry/served.ts'
import type { Encoded, Place } from '../storage/store.ts'
import { tooLarge } from '../status/refusal.ts'
import { Stored } from '../storage/stored.ts'

export const placeOf = (served: Served, namespace: string, name: string): Place => ({
  resource: served.resource,
  namespace: served.type.namespaced ? namespace : '',
  name,
})

/** A view of another group's objects is refused in that group's name. */
export const groupKind = (s: Served) => ({ group: s.resource.slice(0, s.resource.lastIndexOf('/')), kind: s.type.kind })

export const groupResource = (s: Served) => ({ group: s.type.group, plural: s.type.plural })

/** The key under which the real server keeps an object; it shows in messages. */
export function registryKey(served: Served, at: Place): string {
  const prefix = served.custom
    ? `/registry/${served.type.group}/${served.type.plural}`
    : `/registry/${served.type.plural}`
  return at.namespace === '' ? `${prefix}/${at.name}` : `${prefix}/${at.namespace}/${at.name}`
}

/** As etcd refuses it. A real server returns this text with code 500, which makes clients retry; here the code prevents that. */
const MAX_OBJECT_BYTES = 1.5 * 1024 * 1024

const objectOver = (bytes: number): string =>
  `the object would be larger than ${bytes} bytes, the most that this client may write`

/** The bytes that are stored: the object as its storage version, with its revision. */
function encodeAt(served: Served, object: KubeObject, most = MAX_OBJECT_BYTES): (revision: number) => Encoded {
  return (revision) => {
    const stored = served.behaviour.toStored(
      withMetadata(object, { ...object.metadata, resourceVersion: String(revision) }),
    )
    const bytes = encodeJsonToKeep(stored)
    if (bytes.length > most)
      throw tooLarge(most < MAX_OBJECT_BYTES ? objectOver(most) : 'etcdserver: request is too large')
    return { value: stored, bytes }
  }
}

/** The same, where the stored version may need a conversion webhook first. */
export function encodingOf(
  served: Served,
  object: KubeObject,
  most = MAX_OBJECT_BYTES,
): Promise<(revision: number) => Encoded> | ((revision: number) => Encoded) {
  const { conversion } = served.behaviour
  return conversion === undefined
    ? encodeAt(served, object, most)
    : conversion.toStorage(object).then((stored) => encodeAt(served, stored, most))
}

/** A version that was not stored: the answer to a dry run. */
export function unstored(served: Served, at: Place, object: KubeObject): Stored {
  const value = served.behaviour.toStored(object)
  return new Stored(at, 0, encodeJson(value), value)
}

/** The last finalizer of an object that is being deleted was removed. */
export const isFinished = (o: KubeObject): boolean =>
  o.metadata.deletionTimestamp !== undefined &&
  (o.metadata.deletionGracePeriodSeconds ?? 0) === 0 &&
  (o.metadata.finalizers ?? []).length === 0 &&
  !hasSpecFinalizers(o)

/** Namespaces have finalizers in their spec too. */
const hasSpecFinalizers = (o: KubeObject): boolean =>
  o.kind === 'Namespace' &&
  ((o['spec'] as { readonly finalizers?: readonly string[] } | undefined)?.finalizers ?? []).length > 0
