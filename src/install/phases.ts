// The order in which a release's objects are created: earlier phases have everything that a phase needs. Pure.
import type { KubeObject } from '#api/schema/object.ts'
import { COMPONENT } from './release.ts'

/** Namespaces come first because rights and policies live in them; workloads last, once everything that restricts them is in force. */
export const PHASES = ['Namespaces', 'Definitions', 'Policies', 'Rights', 'Settings', 'Workloads'] as const
export type PhaseName = (typeof PHASES)[number]

const PHASE_OF: Readonly<Record<string, PhaseName>> = {
  Namespace: 'Namespaces',
  CustomResourceDefinition: 'Definitions',
  ValidatingAdmissionPolicy: 'Policies',
  ValidatingAdmissionPolicyBinding: 'Policies',
  ServiceAccount: 'Rights',
  ClusterRole: 'Rights',
  ClusterRoleBinding: 'Rights',
  Role: 'Rights',
  RoleBinding: 'Rights',
  Deployment: 'Workloads',
  StatefulSet: 'Workloads',
  DaemonSet: 'Workloads',
}

const phaseOf = ({ kind }: KubeObject): PhaseName => PHASE_OF[kind] ?? 'Settings'

/**
 * The Defender grants disruptions, so it is replaced before the programs that request them; sync brings new declarations and comes after both. Pods of role cluster, and
 * those for Clusters at the end, mount the authority that the artifact servers make.
 */
const ROLE_ORDER = ['defender', 'controllers', 'approver', 'artifacts', 'cluster', 'sync', 'history', 'console']

export const roleOf = (o: KubeObject): string =>
  o.metadata.labels?.[COMPONENT] ?? (o.metadata.name ?? '').replace(/^kubenode-/, '')

const roleRank = (o: KubeObject): number => {
  const at = ROLE_ORDER.indexOf(roleOf(o))
  return at < 0 ? ROLE_ORDER.length : at
}

/** Within a phase a policy comes before its binding, a role before its binding, and an account before both. */
const KIND_ORDER = ['ServiceAccount', 'ValidatingAdmissionPolicy', 'ClusterRole', 'Role']
const kindRank = ({ kind }: KubeObject): number => {
  const at = KIND_ORDER.indexOf(kind)
  return at < 0 ? KIND_ORDER.length : at
}

/** Groups in order; objects of a group may be written in parallel. Each workload is its own group. */
export function groupsOf(objects: readonly KubeObject[], phase: PhaseName): readonly (readonly KubeObject[])[] {
  const own = objects.filter((o) => phaseOf(o) === phase)
  const rank = phase === 'Workloads' ? roleRank : kindRank
  return [...Map.groupBy(own, rank)].toSorted(([a], [b]) => a - b).map(([, group]) => group)
}
