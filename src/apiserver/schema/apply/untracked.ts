// The fields without owners: the object's identity, and the server's own fields.
import { type FieldSet, difference, fieldSetOfPaths } from './field-set.ts'

export const UNTRACKED_TOP: ReadonlySet<string> = new Set(['apiVersion', 'kind'])
export const UNTRACKED_META: ReadonlySet<string> = new Set([
  'name',
  'namespace',
  'creationTimestamp',
  'selfLink',
  'uid',
  'clusterName',
  'generation',
  'managedFields',
  'resourceVersion',
])

const UNTRACKED: FieldSet = fieldSetOfPaths([
  ['f:metadata'],
  ...[...UNTRACKED_TOP].map((name) => [`f:${name}`]),
  ...[...UNTRACKED_META].map((name) => ['f:metadata', `f:${name}`]),
])

export const trackedOnly = (set: FieldSet): FieldSet => difference(set, UNTRACKED)
