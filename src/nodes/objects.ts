// Nodes, Pods and Secrets, and what is asked of them most.
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

/** The start of the kubelet version that an agent reports in a Node that it registered. */
export const AGENT_AS_KUBELET = 'kubenode-agent/'

/** A kubelet reports it; a Node that an agent registered has nothing else that keeps it. One that says nothing yet counts as a kubelet's. */
export const isOfKubelet = (node: Node | undefined): boolean =>
  node !== undefined && !(node.status?.nodeInfo?.['kubeletVersion'] ?? '').startsWith(AGENT_AS_KUBELET)

export const hasTaint = (node: Node | undefined, key: string): boolean =>
  node?.spec?.taints?.some((t) => t.key === key) === true
