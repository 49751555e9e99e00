// Service accounts: identities of programs in the cluster.
import { ageColumn, nameColumn } from './core-columns.ts'
import type { BuiltinKind } from './kind.ts'
import { bool, listOf, mapList, pointer, str, struct } from './shape.ts'

const reference = struct('ObjectReference', {
  kind: str,
  namespace: str,
  name: str,
  uid: str,
  apiVersion: str,
  resourceVersion: str,
  fieldPath: str,
})

export const serviceAccount: BuiltinKind = {
  type: { group: '', version: 'v1', kind: 'ServiceAccount', plural: 'serviceaccounts', namespaced: true },
  singular: 'serviceaccount',
  shortNames: ['sa'],
  subresources: ['token'],
  schema: struct('ServiceAccount', {
    secrets: mapList(['name'], reference),
    imagePullSecrets: listOf(struct('LocalObjectReference', { name: str })),
    automountServiceAccountToken: pointer(bool),
  }),
  columns: [nameColumn, ageColumn],
}
