// Drops managedFields, as kubectl does: they are noise unless requested.
import type { KubeObject } from '#api/schema/object.ts'

export function withoutManagers<T extends KubeObject>(object: T): T {
  const { managedFields: _, ...metadata } = object.metadata
  return { ...object, metadata }
}
