// What of an object is not worth keeping in a cache.
import type { KubeObject } from '#schema/object.ts'

/** Often half of an object, and read by nobody who plans. */
export function withoutManagedFields<T extends KubeObject>(object: T): T {
  if (object.metadata.managedFields === undefined) return object
  const { managedFields: _, ...metadata } = object.metadata
  return { ...object, metadata }
}
