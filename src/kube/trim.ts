// What of an object is not worth keeping in a cache.
import type { KubeObject, ManagedFieldsEntry } from '#schema/object.ts'

/** Tells replicas that were scaled from replicas that were edited; a few dozen bytes on the few objects that can be scaled. */
const isOfScale = ({ subresource }: ManagedFieldsEntry): boolean => subresource === 'scale'

/** Often half of an object, and but for who scaled it read by nobody who plans. */
export function withoutManagedFields<T extends KubeObject>(object: T): T {
  const { managedFields: all, ...metadata } = object.metadata
  if (all === undefined) return object
  const managedFields = all.filter(isOfScale)
  return { ...object, metadata: managedFields.length === 0 ? metadata : { ...metadata, managedFields } }
}
