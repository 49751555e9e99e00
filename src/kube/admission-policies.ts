// The admission policies and bindings of a release, and how a cluster's copies differ: what is missing and what was changed. Pure.
import { isObject, jsonEqual } from '#lib/json.ts'
import type { KubeObject } from '#api/schema/object.ts'
import type { ResourceType } from '#api/schema/resource.ts'

const GROUP = 'admissionregistration.k8s.io'
const policyKind = (kind: string, plural: string): ResourceType => ({
  group: GROUP,
  version: 'v1',
  kind,
  plural,
  namespaced: false,
})

/** In creation order: a binding without its policy has no effect. */
export const POLICY_TYPES: readonly ResourceType[] = [
  policyKind('ValidatingAdmissionPolicy', 'validatingadmissionpolicies'),
  policyKind('ValidatingAdmissionPolicyBinding', 'validatingadmissionpolicybindings'),
]

export const policiesIn = (objects: readonly KubeObject[]): readonly KubeObject[] =>
  POLICY_TYPES.flatMap(({ kind }) => objects.filter((o) => o.kind === kind))

/** Defaults that a server fills in where a release leaves a field out. */
const isFilledIn = (key: string, value: unknown): boolean =>
  value === undefined ||
  (isObject(value) && Object.keys(value).length === 0) ||
  (key === 'matchPolicy' && value === 'Equivalent')

const dataOnly = (value: unknown): unknown =>
  Array.isArray(value)
    ? value.map(dataOnly)
    : isObject(value)
      ? Object.fromEntries(
          Object.entries(value).flatMap(([key, v]) => (isFilledIn(key, v) ? [] : [[key, dataOnly(v)] as const])),
        )
      : value

export const isChanged = (shipped: KubeObject, live: KubeObject): boolean =>
  !jsonEqual(dataOnly(shipped['spec']), dataOnly(live['spec']))
