// Drops parts of an object that are not worth caching.
import type { KubeObject, ManagedFieldsEntry } from '#api/schema/object.ts'

/** Distinguishes scaled replicas from edited ones; costs a few dozen bytes on the few objects that can be scaled. */
const isOfScale = ({ subresource }: ManagedFieldsEntry): boolean => subresource === 'scale'

/** Often half of an object, and plans only use the scaling manager. */
export function withoutManagedFields<T extends KubeObject>(object: T): T {
  const { managedFields: all, ...metadata } = object.metadata
  if (all === undefined) return object
  const managedFields = all.filter(isOfScale)
  return { ...object, metadata: managedFields.length === 0 ? metadata : { ...metadata, managedFields } }
}
