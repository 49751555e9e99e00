// Changes one Node in one write, and only the intended Node: a recreated one with the same name is a different Node.
import type { Clock } from '#lib/clock.ts'
import type { Random } from '#lib/random.ts'
import type { KubeClient } from '#kube/client.ts'
import { type Mutation, type Swap, compareAndSwap } from '#runtime/compare-and-swap.ts'
import { type Node, nodeType } from './objects.ts'

export interface NodeTools {
  readonly client: KubeClient
  readonly clock: Clock
  readonly random: Random
  readonly fieldManager: string
  readonly signal?: AbortSignal
  /** The node as just read. The first attempt may overwrite this version. */
  readonly held?: Node | undefined
}

/** The intended node. Another one with the same name does not match. */
export interface NodeRef {
  readonly name: string
  readonly uid: string
}

export function changeNode(
  tools: NodeTools,
  node: NodeRef,
  mutate: (current: Node) => Mutation<Node>,
): Promise<Swap<Node>> {
  const { client, ...options } = tools
  return compareAndSwap(
    client,
    nodeType,
    { name: node.name },
    (current) => {
      if (current === undefined) return { kind: 'Refuse', reason: `node ${node.name} not found` }
      if (current.metadata.uid !== node.uid)
        return { kind: 'Refuse', reason: `node ${node.name} was deleted and recreated` }
      return mutate(current)
    },
    options,
  )
}
