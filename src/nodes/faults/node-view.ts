// One node as rules see it: its facts, and whether its reports can be trusted right now. Unknown blocks.
import type { Reason } from '#api/catalogue.ts'
import { type Machine } from '#api/kinds/machine.ts'
import { certainStatus, findCondition } from '#kube/conditions.ts'
import { nodeFacts } from '#policy/node-vocabulary.ts'
import type { Facts } from '#policy/reading.ts'
import type { Term } from '#policy/rule.ts'
import { pointerTokens } from '#policy/pointer.ts'
import { setOwn } from '#lib/json.ts'
import type { Node } from '../objects.ts'

export type Standing =
  | { readonly kind: 'Readable' }
  /** No recent heartbeat, so its reports may be outdated. A joining node has never sent any, and did not fall silent. */
  | { readonly kind: 'Silent'; readonly why: string; readonly isJoining?: true }
  /** It is being taken out of service, so it needs no repair. */
  | { readonly kind: 'Leaving'; readonly why: string }

export interface NodeView {
  readonly name: string
  readonly uid: string
  readonly node: Node
  readonly machine: Machine | undefined
  readonly standing: Standing
  /** For a silent node, only facts from others: its name, its place, and that it is silent. */
  readonly facts: Facts
}

const READABLE: Standing = { kind: 'Readable' }

/** Reason of the condition AgentReachable before the first heartbeat. */
const NEVER_SEEN: Reason = 'NotYetObserved'

const REBOOTING: Reason = 'Rebooting'

const agentReachable = (machine: Machine) => findCondition(machine.status?.conditions, 'AgentReachable')

function standingOf(node: Node, machine: Machine | undefined): Standing {
  if (node.metadata.deletionTimestamp !== undefined) return { kind: 'Leaving', why: 'the Node is being deleted' }
  if (machine?.metadata.deletionTimestamp !== undefined) return { kind: 'Leaving', why: 'the Machine is being deleted' }
  const ready = certainStatus(node.status?.conditions, 'Ready')
  if (ready === undefined) return { kind: 'Silent', why: 'Ready is not reported', isJoining: true }
  if (ready !== 'True' && ready !== 'False') return { kind: 'Silent', why: `Ready is ${ready}` }
  if (machine === undefined || machine.spec.channel === 'Observe') return READABLE
  const reachable = agentReachable(machine)
  if (reachable?.status === 'True') return READABLE
  const isJoining = reachable === undefined || reachable.reason === NEVER_SEEN
  const why = `AgentReachable is ${reachable?.status ?? 'not reported'}`
  return { kind: 'Silent', why, ...(isJoining && { isJoining }) }
}

/** `before`: an earlier view of the node, of which what did not change is used again. The result is the same without it. */
export function nodeView(node: Node, machine: Machine | undefined, before?: NodeView): NodeView {
  const standing = standingOf(node, machine)
  const known = before?.standing.kind === 'Silent' ? undefined : before
  const facts = {
    ...nodeFacts(node, known),
    ...(machine !== undefined && machine === known?.machine ? machineFactsIn(known.facts) : machineFacts(machine)),
  }
  return {
    name: node.metadata.name ?? '',
    uid: node.metadata.uid ?? '',
    node,
    machine,
    standing,
    facts: standing.kind === 'Silent' ? silentFacts(facts) : facts,
  }
}

const machineFactsIn = ({ machine, components }: Facts): Facts => ({ machine, components })

function machineFacts(machine: Machine | undefined): Facts {
  if (machine === undefined) return {}
  const { pool, zone, rack, class: hardware } = machine.spec
  const components = {}
  for (const { name, version, state, since } of machine.status?.components ?? [])
    setOwn(components, name, { version, state, since })
  const reachable = agentReachable(machine)
  return {
    machine: {
      phase: machine.status?.phase,
      pool,
      zone,
      rack,
      class: hardware,
      // Silence is expected while it reboots: a rule for silent machines must not restart it meanwhile.
      agentReachable: reachable?.reason === REBOOTING ? 'Unknown' : reachable?.status,
      agentReachableSince: reachable?.lastTransitionTime,
    },
    components: machine.status?.components === undefined ? undefined : components,
    platform: platformFacts(machine.status?.platform),
  }
}

function platformFacts(platform: NonNullable<Machine['status']>['platform']): Facts | undefined {
  if (platform === undefined) return undefined
  const { distribution, bootArguments, bootDigest } = platform
  const named = {}
  for (const argument of bootArguments ?? []) {
    const [name = '', ...value] = argument.split('=')
    setOwn(named, name, value.join('='))
  }
  return {
    distribution: distribution?.id,
    distributionVersion: distribution?.version,
    bootArguments: bootArguments === undefined ? undefined : named,
    bootDigest,
  }
}

/** The control plane itself reports that a kubelet or an agent became silent. All of the node's own reports are unknown now. */
function silentFacts(facts: Facts): Facts {
  const { name, labels, annotations, taints, unschedulable, createdAt, conditions, machine } = facts
  const ready = (conditions as { readonly Ready?: unknown } | undefined)?.Ready
  const declared = ready === undefined ? {} : { conditions: { Ready: ready } }
  return { name, labels, annotations, taints, unschedulable, createdAt, ...declared, machine }
}

/** Whether the rule is about silence. Only such rules are evaluated on a silent node. */
function asksAboutSilence(term: Term): boolean {
  if (term.kind === 'not') return asksAboutSilence(term.child)
  if (term.kind !== 'leaf') return term.children.some(asksAboutSilence)
  const { fact, path } = term.place
  const [first] = pointerTokens(path) ?? []
  return (fact === 'conditions' && first === 'Ready') || (fact === 'machine' && first === 'agentReachable')
}

/** Whether enough is known about the node to evaluate the rule. */
export const isAskable = ({ standing }: NodeView, rule: { readonly root: Term }): boolean =>
  standing.kind === 'Readable' || (standing.kind === 'Silent' && asksAboutSilence(rule.root))

/** The Node that this Machine became, by UID: another Node may have its name by now. */
export const nodeUidOf = (machine: Machine): readonly string[] => {
  const uid = machine.status?.nodeRef?.uid
  return uid === undefined ? [] : [uid]
}
