// Nodes, Pods and Secrets, and the most common questions about them.
import type { BuiltIn } from '#kube/built-in.ts'
import { coreKind } from '#kube/core-kinds.ts'

export type Node = BuiltIn['Node']
export type Taint = NonNullable<NonNullable<Node['spec']>['taints']>[number]
export type Pod = BuiltIn['Pod']
export type Secret = BuiltIn['Secret']

export const secretType = coreKind('Secret')

export const nodeType = coreKind('Node')
export const podType = coreKind('Pod')

export const isPodReady = ({ status }: Pod): boolean =>
  status?.conditions?.some((c) => c.type === 'Ready' && c.status === 'True') === true

export const isNodeReady = (node: Node | undefined): boolean =>
  node?.status?.conditions?.some((c) => c.type === 'Ready' && c.status === 'True') === true

/** Prefix of the kubelet version in a Node that an agent registered. */
export const AGENT_AS_KUBELET = 'kubenode-agent/'

/**
 * A kubelet reports it. A Node that an agent registered has no other program that maintains it. A Node without a report yet counts as a kubelet's.
 */
export const isOfKubelet = (node: Node | undefined): boolean =>
  node !== undefined && !(node.status?.nodeInfo?.['kubeletVersion'] ?? '').startsWith(AGENT_AS_KUBELET)

export const hasTaint = (node: Node | undefined, key: string): boolean =>
  node?.spec?.taints?.some((t) => t.key === key) === true
