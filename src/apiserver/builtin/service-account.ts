// Service accounts: identities of programs in the cluster.
import { ageColumn, nameColumn } from './core-columns.ts'
import type { BuiltinKind } from './kind.ts'
import * as s from './shape.ts'

const reference = s.objectReference()

export const serviceAccount: BuiltinKind = {
  type: { group: '', version: 'v1', kind: 'ServiceAccount', plural: 'serviceaccounts', namespaced: true },
  shortNames: ['sa'],
  subresources: ['token'],
  schema: s.struct('ServiceAccount', {
    secrets: s.mapList(['name'], reference),
    imagePullSecrets: s.listOf(s.struct('LocalObjectReference', { name: s.str })),
    automountServiceAccountToken: s.pointer(s.bool),
  }),
  columns: [nameColumn, ageColumn],
}
