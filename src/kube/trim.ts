// Parts of an object that are not worth keeping in a cache.
import type { KubeObject, ManagedFieldsEntry } from '#api/schema/object.ts'

/** Distinguishes scaled replicas from edited ones; a few dozen bytes on the few objects that can be scaled. */
const isOfScale = ({ subresource }: ManagedFieldsEntry): boolean => subresource === 'scale'

/** Often half of an object, and except for the scaling manager unused by plans. */
export function withoutManagedFields<T extends KubeObject>(object: T): T {
  const { managedFields: all, ...metadata } = object.metadata
  if (all === undefined) return object
  const managedFields = all.filter(isOfScale)
  return { ...object, metadata: managedFields.length === 0 ? metadata : { ...metadata, managedFields } }
}
