// The type of an installed object, without asking a server that may not serve the kind yet.
import { pluralOf } from '#lib/plural.ts'
import type { KubeObject } from '#api/schema/object.ts'
import type { ResourceType } from '#api/schema/resource.ts'

/** Plurals of built-in kinds in an installation; the rest follow the rule. */
const CLUSTER_SCOPED = new Set([
  'Namespace',
  'ClusterRole',
  'ClusterRoleBinding',
  'ValidatingAdmissionPolicy',
  'ValidatingAdmissionPolicyBinding',
  'CustomResourceDefinition',
  'PriorityClass',
  'FlowSchema',
  'PriorityLevelConfiguration',
])

export function typeOf(o: KubeObject): ResourceType {
  const [group = '', version = group] = o.apiVersion.includes('/') ? o.apiVersion.split('/') : ['', o.apiVersion]
  return {
    group,
    version,
    kind: o.kind,
    plural: pluralOf(o.kind.toLowerCase()),
    namespaced: !CLUSTER_SCOPED.has(o.kind),
  }
}
