// The part of a Machine's status that is this controller's: phase, node, conditions. Pure; equal worlds give equal statuses. What the agent reports is its own.
import type { ConditionType, Phase, Reason } from '#api/catalogue.ts'
import type { Machine } from '#api/kinds/machine.ts'
import { ANNOTATIONS } from '#api/names.ts'
import { type WantedCondition, findCondition, setCondition } from '#kube/conditions.ts'
import { cordonOwners } from '#nodeops/cordon.ts'
import { isNodeReady } from '#nodeops/objects.ts'
import type { ActionResult } from '#runtime/reconcile-with.ts'
import type { Condition } from '#schema/object.ts'
import type { MachineAction, MachinePlan } from './actions.ts'
import { LOST_AFTER_MS, isBeating } from './heartbeats.ts'
import { type Seen, brokenComponents, hasJoined, isDeleting, isFirstInstall, isUpdating } from './seen.ts'

export type MachineStatus = NonNullable<Machine['status']>
export type OwnStatus = Pick<MachineStatus, 'observedGeneration' | 'phase' | 'nodeRef' | 'commit' | 'conditions'>
type MachinePhase = Phase<'Machine'>

/** Condition types that this controller writes; others in the list are of the agent. */
export const OWN_CONDITIONS: ReadonlySet<string> = new Set<ConditionType>([
  'Ready',
  'Reconciling',
  'Stalled',
  'AgentReachable',
  'NodeReady',
  'InfrastructureReady',
  'Joined',
  'Cordoned',
  'Drained',
])

export const ownConditions = ({ status }: Machine): readonly Condition[] =>
  (status?.conditions ?? []).filter((c) => OWN_CONDITIONS.has(c.type))

export function statusOf(
  seen: Seen,
  plan: MachinePlan,
  results: readonly ActionResult<MachineAction>[],
  now: number,
): OwnStatus {
  const { machine, node } = seen
  const { generation, annotations } = machine.metadata
  const refusal = refusalOf(results)
  const phase = phaseOf(seen, plan, refusal)
  const commit = annotations?.[ANNOTATIONS.commit]
  const nodeRef = nodeRefOf(seen)
  const before = ownConditions(machine)
  const conditions = conditionsOf(seen, plan, phase, refusal).reduce<readonly Condition[]>(
    // A word on the generation in every condition would rewrite them all with each order to the agent.
    (list, c) => setCondition(list, c, now),
    before.filter((c) => c.type !== 'Drained' || plan.doing === 'Draining'),
  )
  return {
    ...(generation !== undefined && { observedGeneration: generation }),
    phase,
    ...(nodeRef !== undefined && { nodeRef }),
    ...(commit !== undefined && { commit }),
    conditions:
      node === undefined && nodeRef === undefined ? conditions.filter((c) => c.type !== 'Cordoned') : conditions,
  }
}

/** The last Node that there was; it stays known while the Node is gone. */
function nodeRefOf({ machine, node }: Seen): MachineStatus['nodeRef'] {
  const { name, uid } = node?.metadata ?? {}
  return name !== undefined && uid !== undefined ? { name, uid } : machine.status?.nodeRef
}

/** Why the provider did not make the host just now. */
function refusalOf(results: readonly ActionResult<MachineAction>[]): string | undefined {
  const provision = results.find((r) => r.action.kind === 'Provision')
  return provision?.outcome.kind === 'Outdated' ? provision.outcome.reason : undefined
}

function phaseOf(seen: Seen, plan: MachinePlan, refusal: string | undefined): MachinePhase {
  const { machine, host } = seen
  if (plan.doing !== undefined) return plan.doing
  if (isDeleting(machine)) return 'Deleting'
  if (isLost(seen)) return 'Lost'
  if (!hasJoined(seen)) {
    if (machine.status?.nodeRef !== undefined) return 'Lost'
    if (host.kind === 'NoProvider') return 'Failed'
    if (machine.spec.providerID === undefined) return refusal === undefined ? 'Pending' : 'Failed'
    return host.kind === 'Host' && host.host.state === 'Creating' ? 'Provisioning' : 'Joining'
  }
  if (seen.node === undefined) return 'Joining'
  if (isFirstInstall(seen)) return 'Installing'
  if (isUpdating(machine)) return 'Updating'
  return (machine.spec.jobs ?? []).length > 0 ? 'Repairing' : 'Ready'
}

/** Agent and node both silent; one alone is a fault of that one. */
const isLost = ({ agentBeat, nodeBeat, node, machine }: Seen): boolean =>
  isBeating(agentBeat, LOST_AFTER_MS) === false &&
  (isBeating(nodeBeat, LOST_AFTER_MS) === false || (nodeBeat.kind === 'None' && !isNodeReady(node))) &&
  machine.status?.nodeRef !== undefined

const condition = (
  type: ConditionType,
  status: WantedCondition['status'],
  reason: Reason,
  message: string,
): WantedCondition => ({ type, status, reason, message })

function conditionsOf(
  seen: Seen,
  plan: MachinePlan,
  phase: MachinePhase,
  refusal: string | undefined,
): readonly WantedCondition[] {
  return [
    readyOf(seen, phase),
    reconcilingOf(plan, phase),
    stalledOf(seen),
    agentReachable(seen),
    nodeReady(seen),
    ...infrastructure(seen, refusal),
    joined(seen),
    ...cordoned(seen),
    ...(plan.doing === 'Draining'
      ? [condition('Drained', 'False', 'WaitingForDrain', plan.waiting?.seen ?? 'pods are being moved')]
      : []),
  ]
}

function readyOf(seen: Seen, phase: MachinePhase): WantedCondition {
  const { machine, node } = seen
  const not = (reason: Reason, message: string) => condition('Ready', 'False', reason, message)
  if (phase === 'Deleting' || phase === 'Draining') return not('Deleting', 'the machine is being taken away')
  if (phase === 'Lost') return not('LeaseExpired', 'neither its agent nor its node was heard of for long')
  if (phase === 'Failed') return not('ProviderError', 'the provider does not make it')
  if (!hasJoined(seen) || node === undefined || phase === 'Installing' || isFirstInstall(seen))
    return not('Progressing', `phase ${phase}`)
  const reachable = agentReachable(seen)
  if (reachable.status !== 'True') return not('LeaseExpired', 'its agent is not heard of')
  if (!isNodeReady(node)) return not('WaitingForOther', 'its Node is not Ready')
  const [broken] = brokenComponents(machine)
  if (broken !== undefined) return not('ProbeFailed', `component ${broken.name}: ${broken.what}`)
  return condition('Ready', 'True', 'AllHealthy', 'the node works and its components are healthy')
}

const SETTLED: ReadonlySet<MachinePhase> = new Set(['Ready', 'Lost', 'Failed'])

function reconcilingOf(plan: MachinePlan, phase: MachinePhase): WantedCondition {
  if (plan.waiting !== undefined) {
    const reason: Reason =
      plan.waiting.predicate === 'PermitGranted'
        ? 'PermitRequested'
        : plan.waiting.predicate === 'PermitDenied'
          ? 'PermitDenied'
          : plan.waiting.predicate === 'Drained'
            ? 'WaitingForDrain'
            : 'WaitingForOther'
    return condition('Reconciling', 'True', reason, `${plan.waiting.seen}; waits for ${plan.waiting.unblock}`)
  }
  if (SETTLED.has(phase)) return condition('Reconciling', 'False', 'AsDeclared', 'nothing is under way')
  return condition('Reconciling', 'True', 'Progressing', `phase ${phase}`)
}

function stalledOf({ machine, host }: Seen): WantedCondition {
  if (host.kind === 'NoProvider')
    return condition(
      'Stalled',
      'True',
      'ReferenceMissing',
      `no provider ${machine.spec.provider?.name ?? ''} is configured for this cluster; name another one, or configure it`,
    )
  return condition('Stalled', 'False', 'AsDeclared', 'nothing needs a person')
}

/** While nobody knows, the last word stays. */
function agentReachable({ machine, agentBeat }: Seen): WantedCondition {
  const alive = isBeating(agentBeat)
  if (alive === true) return condition('AgentReachable', 'True', 'LeaseRenewed', 'its Lease is being renewed')
  if (alive === false) return condition('AgentReachable', 'False', 'LeaseExpired', 'its Lease is not renewed any more')
  if (agentBeat.kind === 'None')
    return condition('AgentReachable', 'Unknown', 'NotYetObserved', 'no Lease of its agent was seen')
  const before = findCondition(machine.status?.conditions, 'AgentReachable')
  return before?.status === 'False'
    ? condition('AgentReachable', 'False', 'LeaseExpired', 'its Lease is not renewed any more')
    : condition('AgentReachable', 'True', 'LeaseRenewed', 'its Lease is being renewed')
}

function nodeReady({ node }: Seen): WantedCondition {
  if (node === undefined) return condition('NodeReady', 'Unknown', 'NotYetObserved', 'there is no Node')
  const ready = node.status?.conditions?.find((c) => c.type === 'Ready')
  if (ready === undefined)
    return condition('NodeReady', 'Unknown', 'NotYetObserved', 'the Node says nothing about itself')
  if (ready.status === 'True') return condition('NodeReady', 'True', 'AsDeclared', 'the Node is Ready')
  return condition('NodeReady', ready.status, 'WaitingForOther', `the Node says ${ready.reason}: ${ready.message}`)
}

function infrastructure({ machine, host }: Seen, refusal: string | undefined): WantedCondition[] {
  const is = (status: WantedCondition['status'], reason: Reason, message: string) => [
    condition('InfrastructureReady', status, reason, message),
  ]
  if (refusal !== undefined) return is('False', 'ProviderError', refusal)
  switch (host.kind) {
    case 'Host':
      return is('True', 'MachineExists', 'the provider knows the machine')
    case 'Gone':
      return machine.spec.providerID === undefined
        ? is('False', 'Progressing', 'the machine is being made')
        : is('False', 'MachineGone', 'the provider does not know the machine any more')
    case 'Unknown':
      return is('Unknown', 'ProviderError', host.why)
    case 'NoProvider':
      return is('False', 'ReferenceMissing', 'its provider is not configured here')
    case 'NotAsked':
      return []
    default:
      return host satisfies never
  }
}

function joined(seen: Seen): WantedCondition {
  if (hasJoined(seen) || seen.machine.status?.nodeRef !== undefined)
    return condition('Joined', 'True', 'JoinComplete', 'its agent has a certificate of its own')
  return condition('Joined', 'False', 'Progressing', 'its agent has not joined yet')
}

function cordoned({ node }: Seen): WantedCondition[] {
  if (node === undefined) return []
  const read = cordonOwners(node)
  const owners = read.kind === 'Owners' ? Object.keys(read.owners) : ['?']
  if (owners.length > 0) return [condition('Cordoned', 'True', 'CordonedByUs', `kept by ${owners.join(', ')}`)]
  if (node.spec?.unschedulable === true)
    return [condition('Cordoned', 'True', 'CordonedByPeople', 'somebody set spec.unschedulable')]
  return [condition('Cordoned', 'False', 'AsDeclared', 'pods may come')]
}
