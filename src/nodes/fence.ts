// The out-of-service taint: lets the control plane give up the pods of a node. Only for a machine that is switched off, and removed only by its
// creator.
import { TAINTS } from '#api/names.ts'
import type { Mutation, Swap } from '#runtime/compare-and-swap.ts'
import type { Clearance } from '#permits/under-permit.ts'
import { type NodeRef, type NodeTools, changeNode } from './change-node.ts'
import { type Node, hasTaint } from './objects.ts'

/** On a Node: the owner of the fence. Foreign taints are never removed. */
export const FENCE_ANNOTATION = 'kubenode.io/fenced-by'
const TAINT = { key: TAINTS.outOfService, value: 'nodeshutdown', effect: 'NoExecute' } as const

export const isFencedBy = (node: Node | undefined, owner: string): boolean =>
  node !== undefined && hasTaint(node, TAINTS.outOfService) && node.metadata.annotations?.[FENCE_ANNOTATION] === owner

/** The node with our fence. A foreign fence stays foreign. Pure. */
export function withFence(node: Node, owner: string): Mutation<Node> {
  if (hasTaint(node, TAINTS.outOfService)) return { kind: 'Keep' }
  return {
    kind: 'Write',
    object: {
      ...node,
      metadata: { ...node.metadata, annotations: { ...node.metadata.annotations, [FENCE_ANNOTATION]: owner } },
      spec: { ...node.spec, taints: [...(node.spec?.taints ?? []), TAINT] },
    },
  }
}

/** The node without our fence. Pure. */
export function withoutFence(node: Node, owner: string): Mutation<Node> {
  if (node.metadata.annotations?.[FENCE_ANNOTATION] !== owner) return { kind: 'Keep' }
  const { [FENCE_ANNOTATION]: _, ...annotations } = node.metadata.annotations
  const taints = (node.spec?.taints ?? []).filter((t) => t.key !== TAINTS.outOfService)
  return {
    kind: 'Write',
    object: { ...node, metadata: { ...node.metadata, annotations }, spec: { ...node.spec, taints } },
  }
}

export const fence = (_clearance: Clearance, tools: NodeTools, node: NodeRef, owner: string): Promise<Swap<Node>> =>
  changeNode(tools, node, (current) => withFence(current, owner))

export const unfence = (tools: NodeTools, node: NodeRef, owner: string): Promise<Swap<Node>> =>
  changeNode(tools, node, (current) => withoutFence(current, owner))
