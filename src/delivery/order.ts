// The order in which kinds are applied: dependencies first. Pruning goes backwards. Pure.
import { compareRefs, type ObjectRef } from './object-ref.ts'

const RANKS: readonly (readonly string[])[] = [
  ['CustomResourceDefinition'],
  ['Namespace'],
  ['PriorityClass', 'StorageClass', 'ResourceQuota', 'LimitRange'],
  ['ServiceAccount', 'ClusterRole', 'Role', 'ClusterRoleBinding', 'RoleBinding'],
  ['ValidatingAdmissionPolicy', 'ValidatingAdmissionPolicyBinding'],
  ['Secret', 'ConfigMap', 'PersistentVolumeClaim', 'Service'],
  ['DefenderPolicy', 'ReleasePipeline'],
  ['MachineComponent', 'ComponentConfig', 'NodeRemedier'],
  ['Cluster', 'FleetSource'],
  ['MachineSet', 'Machine'],
  ['MachineComponentSet'],
  ['ComponentCanary'],
]

/** Unlisted kinds come after their possible dependencies, and before the sets that may need them. */
const OTHER_RANK = 7.5

const RANK = new Map(RANKS.flatMap((kinds, rank) => kinds.map((kind) => [kind, rank])))

export const orderOf = ({ kind }: Pick<ObjectRef, 'kind'>): number => RANK.get(kind) ?? OTHER_RANK

export const byApplyOrder = (a: ObjectRef, b: ObjectRef): number => orderOf(a) - orderOf(b) || compareRefs(a, b)

/** Backwards: dependents are deleted first. */
export const byDeleteOrder = (a: ObjectRef, b: ObjectRef): number => orderOf(b) - orderOf(a) || compareRefs(a, b)
