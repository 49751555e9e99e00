// The schema of `metadata`, with the types that server-side apply and strategic merge patch need.
import { anything, bool, int64, listOf, mapList, mapOf, pointer, setOf, str, struct, time } from '../builtin/shape.ts'
import type { BuiltinSchema } from '../builtin/kind.ts'

const ownerReference: BuiltinSchema = struct(
  'OwnerReference',
  {
    apiVersion: { ...str, 'x-go-field': 'always' },
    kind: { ...str, 'x-go-field': 'always' },
    name: { ...str, 'x-go-field': 'always' },
    uid: { ...str, 'x-go-field': 'always' },
    controller: pointer(bool),
    blockOwnerDeletion: pointer(bool),
  },
  { 'x-kubernetes-map-type': 'atomic' },
)

const managedFieldsEntry: BuiltinSchema = struct('ManagedFieldsEntry', {
  manager: str,
  operation: str,
  apiVersion: str,
  time,
  fieldsType: str,
  fieldsV1: { ...anything, 'x-go-field': 'pointer' },
  subresource: str,
})

const fields = {
  name: str,
  generateName: str,
  namespace: str,
  selfLink: str,
  uid: str,
  resourceVersion: str,
  generation: int64,
  creationTimestamp: time,
  deletionTimestamp: time,
  deletionGracePeriodSeconds: pointer(int64),
  labels: mapOf(str),
  annotations: mapOf(str),
  ownerReferences: mapList(['uid'], ownerReference),
  finalizers: setOf(str),
  /** An empty list means: forget the managers. */
  managedFields: listOf(managedFieldsEntry, { 'x-go-field': 'emptyList' }),
}

export const objectMeta: BuiltinSchema = struct('ObjectMeta', fields)

/** The schema of a whole object from the schema of its own fields. */
export const wholeSchema = (kind: string, own: BuiltinSchema): BuiltinSchema => ({
  ...own,
  type: 'object',
  'x-go-struct': own['x-go-struct'] ?? kind,
  properties: { apiVersion: str, kind: str, metadata: objectMeta, ...own.properties },
})
