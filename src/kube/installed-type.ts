// The type of an object that an installation brings, without asking a server: it may not know the kind yet.
import { pluralOf } from '#lib/plural.ts'
import type { KubeObject } from '#api/schema/object.ts'
import type { ResourceType } from '#api/schema/resource.ts'

/** Plurals of the built-in kinds that are installed; the rest follow the rule. */
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
