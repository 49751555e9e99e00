// One node as rules see it: its facts, and whether what is reported about it can be believed right now. Unknown blocks.
import { type Machine } from '#api/kinds/machine.ts'
import { findCondition } from '#kube/conditions.ts'
import { nodeFacts } from '#policy/node-vocabulary.ts'
import type { Facts } from '#policy/reading.ts'
import { setOwn } from '#lib/json.ts'
import type { Node } from '../objects.ts'

export type Standing =
  | { readonly kind: 'Readable' }
  /** Nobody has heard of it lately: what it says may be long over. */
  | { readonly kind: 'Silent'; readonly why: string }
  /** It is being taken out of service: no repair is wanted. */
  | { readonly kind: 'Leaving'; readonly why: string }

export interface NodeView {
  readonly name: string
  readonly uid: string
  readonly node: Node
  readonly machine: Machine | undefined
  readonly standing: Standing
  readonly facts: Facts
}

const READABLE: Standing = { kind: 'Readable' }

export function standingOf(node: Node, machine: Machine | undefined): Standing {
  if (node.metadata.deletionTimestamp !== undefined) return { kind: 'Leaving', why: 'the Node is being deleted' }
  if (machine?.metadata.deletionTimestamp !== undefined) return { kind: 'Leaving', why: 'the Machine is being deleted' }
  const ready = findCondition(node.status?.conditions, 'Ready')?.status
  if (ready !== 'True' && ready !== 'False') return { kind: 'Silent', why: `Ready is ${ready ?? 'not reported'}` }
  if (machine === undefined || machine.spec.channel === 'Observe') return READABLE
  const reachable = findCondition(machine.status?.conditions, 'AgentReachable')?.status
  return reachable === 'True' ? READABLE : { kind: 'Silent', why: `AgentReachable is ${reachable ?? 'not reported'}` }
}

export function nodeView(node: Node, machine: Machine | undefined): NodeView {
  return {
    name: node.metadata.name ?? '',
    uid: node.metadata.uid ?? '',
    node,
    machine,
    standing: standingOf(node, machine),
    facts: { ...nodeFacts(node), ...machineFacts(machine) },
  }
}

function machineFacts(machine: Machine | undefined): Facts {
  if (machine === undefined) return {}
  const { pool, zone, rack, class: hardware } = machine.spec
  const components = {}
  for (const { name, version, state, since } of machine.status?.components ?? [])
    setOwn(components, name, { version, state, since })
  return {
    machine: { phase: machine.status?.phase, pool, zone, rack, class: hardware },
    components: machine.status?.components === undefined ? undefined : components,
  }
}

/** The Machine that became this Node, by UID: a name may belong to another by now. */
export const nodeUidOf = (machine: Machine): readonly string[] => {
  const uid = machine.status?.nodeRef?.uid
  return uid === undefined ? [] : [uid]
}
