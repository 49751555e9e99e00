// Leaves out who wrote which field, as kubectl does: it is noise unless it is asked for.
import type { KubeObject } from '#api/schema/object.ts'

export function withoutManagers<T extends KubeObject>(object: T): T {
  const { managedFields: _, ...metadata } = object.metadata
  return { ...object, metadata }
}
