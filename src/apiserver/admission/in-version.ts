// Objects of a request in the version that a policy or a webhook is written for.
import type { KubeObject } from '#api/schema/object.ts'
import type { Served } from '../registry/served.ts'
import type { AdmissionRequest } from './chain.ts'

/** The same object in another version of its resource. */
export function inVersion(object: KubeObject, from: Served, to: Served): KubeObject | Promise<KubeObject> {
  if (from === to) return object
  const { conversion, fromStored } = to.behaviour
  return conversion === undefined ? fromStored(from.behaviour.toStored(object)) : conversion.fromVersion(object)
}

/** The request with both its objects in that version; `sentAs` keeps the original. */
export async function requestIn(request: AdmissionRequest, as: Served): Promise<AdmissionRequest> {
  const { served, object, old } = request
  if (served === as) return request
  return {
    ...request,
    served: as,
    sentAs: served,
    object: object && (await inVersion(object, served, as)),
    old: old && (await inVersion(old, served, as)),
  }
}
