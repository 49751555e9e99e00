// The parts of Nodes, Pods, Secrets and budgets that we read or write. Everything else of them is carried along untouched.
import type { Condition, KubeObject, ObjectMeta } from '#api/schema/object.ts'
import { coreKind } from '#kube/core-kinds.ts'

export interface Taint {
  readonly key: string
  readonly value?: string
  readonly effect: string
  readonly timeAdded?: string
}

/** Conditions of a Node have a heartbeat beside the fields of others. */
type NodeCondition = Condition & { readonly lastHeartbeatTime?: string }

export interface Node extends KubeObject {
  readonly spec?: {
    readonly taints?: readonly Taint[]
    readonly unschedulable?: boolean
    readonly providerID?: string
    readonly [field: string]: unknown
  }
  readonly status?: {
    readonly conditions?: readonly NodeCondition[]
    readonly nodeInfo?: { readonly bootID?: string; readonly [field: string]: unknown }
    readonly [field: string]: unknown
  }
}

export interface Pod extends KubeObject {
  readonly metadata: ObjectMeta
  readonly spec?: { readonly nodeName?: string; readonly [field: string]: unknown }
  readonly status?: { readonly phase?: string; readonly [field: string]: unknown }
}

export interface Secret extends KubeObject {
  readonly type?: string
  readonly data?: { readonly [key: string]: string }
}

export const secretType = coreKind<Secret>('Secret')

export const nodeType = coreKind<Node>('Node')
export const podType = coreKind<Pod>('Pod')

export const isNodeReady = (node: Node | undefined): boolean =>
  node?.status?.conditions?.some((c) => c.type === 'Ready' && c.status === 'True') === true

/** The start of the kubelet version that an agent reports in a Node that it registered. */
export const AGENT_AS_KUBELET = 'kubenode-agent/'

/** A kubelet reports it; a Node that an agent registered has nothing else that keeps it. One that says nothing yet counts as a kubelet's. */
export const isOfKubelet = (node: Node | undefined): boolean =>
  node !== undefined && !String(node.status?.nodeInfo?.['kubeletVersion'] ?? '').startsWith(AGENT_AS_KUBELET)

export const hasTaint = (node: Node | undefined, key: string): boolean =>
  node?.spec?.taints?.some((t) => t.key === key) === true
