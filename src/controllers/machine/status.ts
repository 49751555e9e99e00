// The machine controller's part of a Machine's status: phase, node, conditions. Pure; equal inputs give equal statuses. The agent writes its own
// reports.
import { waitingSince } from '#runtime/waiting.ts'
import type { ConditionType, Reason } from '#api/catalogue.ts'
import type { Phase } from '#api/phases.ts'
import { CONTROLLED_CONDITIONS, type Machine } from '#api/kinds/machine.ts'
import { ANNOTATIONS } from '#api/names.ts'
import { MOST_FRESH_COPIES, isPastFreshCopies } from '#api/protocol/fresh-copy.ts'
import { rebooting } from '#api/protocol/rebooting.ts'
import { timestamp } from '#lib/clock.ts'
import { type WantedCondition, findCondition, setCondition } from '#kube/conditions.ts'
import { cordonOwners, isCordonedBy } from '#nodes/cordon.ts'
import { type Node, isNodeReady } from '#nodes/objects.ts'
import { isObserved } from '#nodes/machine-node.ts'
import type { ActionResult } from '#runtime/reconcile-with.ts'
import type { Condition } from '#api/schema/object.ts'
import { isBeingDeleted } from '#api/schema/object-meta.ts'
import { DELETE_OWNER, type MachineAction, type MachinePlan, type Waiting } from './actions.ts'
import { acceptanceStall, acceptanceWait } from './acceptance/plan.ts'
import { notCreated } from './acceptance/pod.ts'
import { certificateExpiring } from './reporting/certificate.ts'
import { infrastructure } from './reporting/infrastructure.ts'
import { isBeating } from './heartbeats/heartbeats.ts'
import { mirroredComponents, mirroredHost } from './node/mirror.ts'
import {
  type Seen,
  disturbedComponents,
  hadJoined,
  hasJoined,
  isClosed,
  isFirstInstall,
  isInService,
  isLost,
  isNodeDeleted,
  isUpdating,
  lostAfterMs,
  missingComponents,
  stuckIn,
} from './seen.ts'
import { type Refusal, provisioningOf, refusalOf } from './provisioning/status.ts'
import { powerCycleOf, rebootText } from './reboots/report.ts'
import { lateJoinWait } from './provisioning/late-join.ts'
import { rateWait, unservedWait, waitIn } from './reporting/waits.ts'
import { defined } from '#lib/defined.ts'

type MachineStatus = NonNullable<Machine['status']>
/** Components are this controller's only if no agent reports them; boot and platform only while the machine is observed. */
export type OwnStatus = Pick<
  MachineStatus,
  | 'observedGeneration'
  | 'phase'
  | 'nodeRef'
  | 'inServiceSince'
  | 'commit'
  | 'provisioning'
  | 'powerCycle'
  | 'acceptance'
  | 'conditions'
  | 'waitingFor'
  | 'components'
  | 'bootID'
  | 'platform'
>
type MachinePhase = Phase<'Machine'>

const OWN_CONDITIONS: ReadonlySet<string> = new Set(CONTROLLED_CONDITIONS)

/** Conditions that are absent unless they hold. Most machines never have them. */
const PASSING: ReadonlySet<string> = new Set<ConditionType>(['CertificateExpiring', 'Drained', 'Paused', 'Cordoned'])

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
  const refusal = refusalOf(seen, results)
  const work = phaseOf(seen, plan, refusal)
  const ready = readyIn(seen, work, joiningWait(seen, plan, work, now))
  // One health reading serves both, so the phase is never better than the condition.
  const phase = work === 'Ready' && ready.status !== 'True' ? 'NotReady' : work
  const commit = annotations?.[ANNOTATIONS.commit]
  const nodeRef = nodeRefOf(seen)
  const before = ownConditions(machine)
  const wanted = isObserved(machine)
    ? observedConditions(seen, plan, phase, ready)
    : conditionsOf(seen, plan, phase, { refusal, ready, now })
  const isLeft = ({ type }: Condition) =>
    isObserved(machine) || PASSING.has(type) ? wanted.some((c) => c.type === type) : true
  const conditions = wanted.reduce<readonly Condition[]>(
    // No generation in the conditions: every order to the agent would rewrite them all.
    (list, c) => setCondition(list, c, now),
    before.filter(isLeft),
  )
  const reports = isObserved(machine) ? mirroredComponents(seen, now) : (plan.reports ?? [])
  return {
    ...defined({ observedGeneration: generation }),
    phase,
    ...defined({ nodeRef }),
    ...inServiceSince(seen, now),
    ...defined({ commit }),
    ...provisioningOf(seen),
    ...powerCycleOf(machine, results, now),
    ...defined({ acceptance: acceptanceOf(machine, plan, results) }),
    ...waitingFor(
      seen,
      plan.waiting ??
        waitIn(phase, seen, { refusal: refusal?.message, ready, now }) ??
        rateWait(seen, machine.metadata.uid ?? ''),
      now,
    ),
    ...(reports.length > 0 && { components: reports }),
    ...(isObserved(machine) && mirroredHost(node)),
    conditions,
  }
}

function acceptanceOf(
  { status }: Machine,
  { acceptance }: MachinePlan,
  results: readonly ActionResult<MachineAction>[],
): OwnStatus['acceptance'] {
  if (acceptance?.record === undefined) return acceptance === undefined ? status?.acceptance : undefined
  const refused = results.find((r) => r.action.kind === 'StartAcceptancePod')?.outcome
  return refused?.kind === 'Denied' ? notCreated(acceptance.record, refused.error.serverMessage) : acceptance.record
}

/** The start time stays as long as it waits for the same thing. */
function waitingFor({ machine }: Seen, waiting: Waiting | undefined, now: number): Pick<MachineStatus, 'waitingFor'> {
  if (waiting === undefined) return {}
  return { waitingFor: waitingSince(machine.status?.waitingFor, waiting, now) }
}

/** The last known Node. It stays in the status after the Node was deleted. */
function nodeRefOf({ machine, node }: Seen): MachineStatus['nodeRef'] {
  const { name, uid } = node?.metadata ?? {}
  return name !== undefined && uid !== undefined ? { name, uid } : machine.status?.nodeRef
}

/** Stays once set: a machine that served before and does not now is unavailable; a machine that never served is not. */
function inServiceSince(seen: Seen, now: number): Pick<MachineStatus, 'inServiceSince'> {
  const before = seen.machine.status?.inServiceSince
  if (before !== undefined) return { inServiceSince: before }
  return isInService(seen) ? { inServiceSince: timestamp(now) } : {}
}

function phaseOf(seen: Seen, plan: MachinePlan, refusal: Refusal | undefined): MachinePhase {
  const { machine, host } = seen
  if (plan.doing !== undefined) return plan.doing
  if (isBeingDeleted(machine)) return 'Deleting'
  if (isLost(seen)) return 'Lost'
  if (isObserved(machine)) return seen.node === undefined ? 'Pending' : 'Ready'
  if (!hasJoined(seen)) {
    if (hadJoined(seen)) return 'Lost'
    if (host.kind === 'NoProvider') return 'Failed'
    if (machine.spec.providerID === undefined) return refusal?.isFinal === true ? 'Failed' : 'Pending'
    return host.kind === 'Host' && host.host.state === 'Creating' ? 'Provisioning' : 'Joining'
  }
  if (seen.node === undefined && !isNodeDeleted(seen)) return 'Joining'
  if (isFirstInstall(seen)) return 'Installing'
  if (isImporting(seen)) return 'Importing'
  if (isUpdating(machine)) return 'Updating'
  return (machine.spec.jobs ?? []).length > 0 ? 'Repairing' : 'Ready'
}

/** The Node existed before the agent, and the agent has not reported what it found. Nothing is ordered before that. */
const isImporting = ({ machine, isHostKept }: Seen): boolean => isHostKept && machine.status?.agent === undefined

const condition = (
  type: ConditionType,
  status: WantedCondition['status'],
  reason: Reason,
  message: string,
): WantedCondition => ({ type, status, reason, message })

interface Known {
  readonly refusal: Refusal | undefined
  readonly ready: WantedCondition
  readonly now: number
}

function conditionsOf(
  seen: Seen,
  plan: MachinePlan,
  phase: MachinePhase,
  { refusal, ready, now }: Known,
): readonly WantedCondition[] {
  return [
    ready,
    reconcilingOf(seen, plan, phase),
    stalledOf(seen, now),
    ...consistent(seen),
    agentReachable(seen),
    nodeReady(seen),
    ...infrastructure(seen, refusal),
    joined(seen),
    ...certificateExpiring(seen.machine, now),
    ...cordoned(seen),
    ...(plan.doing === 'Draining'
      ? [condition('Drained', 'False', 'WaitingForDrain', plan.waiting?.seen ?? 'pods are being moved')]
      : []),
    ...paused(seen),
  ]
}

function paused({ hold }: Seen): WantedCondition[] {
  if (hold === undefined) return []
  const { effect, author, until, reason } = hold.spec
  const because: Reason = effect === 'Pause' ? 'HoldPause' : 'HoldFreeze'
  return [condition('Paused', 'True', because, `${author} until ${until}: ${reason}`)]
}

/** The conditions of a machine without our agent. */
function observedConditions(
  seen: Seen,
  plan: MachinePlan,
  phase: MachinePhase,
  ready: WantedCondition,
): readonly WantedCondition[] {
  return [
    ready,
    plan.waiting === undefined
      ? condition('Reconciling', 'False', 'ObservedOnly', 'observed only; nothing is changed')
      : reconcilingOf(seen, plan, phase),
    condition('Stalled', 'False', 'ObservedOnly', 'observed only; nothing is changed'),
    nodeReady(seen),
    ...cordoned(seen),
  ]
}

const readyIn = (seen: Seen, work: MachinePhase, joining: Waiting | undefined): WantedCondition =>
  isObserved(seen.machine) ? observedReady(seen, work) : readyOf(seen, work, joining)

const joiningWait = (seen: Seen, { waiting }: MachinePlan, phase: MachinePhase, now: number): Waiting | undefined =>
  waiting?.predicate === 'AgentJoined' ? waiting : phase === 'Joining' ? lateJoinWait(seen, now) : undefined

function observedReady({ node }: Seen, work: MachinePhase): WantedCondition {
  const not = (reason: Reason, message: string) => condition('Ready', 'False', reason, message)
  if (work === 'Lost') return not('LeaseExpired', 'no heartbeat from its Node')
  if (node === undefined) return not('NodeMissing', 'its Node does not exist')
  if (work !== 'Ready') return not('Deleting', 'the machine is being removed')
  return isNodeReady(node) ? condition('Ready', 'True', 'NodeHealthy', 'its Node is Ready') : nodeNotReady(node)
}

function nodeNotReady(node: Node): WantedCondition {
  const { reason, message, status = 'Unknown' } = node.status?.conditions?.find((c) => c.type === 'Ready') ?? {}
  const why = [reason, message].filter((w) => w !== undefined && w !== '').join(': ')
  const what = status === 'Unknown' ? 'its Node has stopped reporting' : 'its Node is not Ready'
  return condition('Ready', 'False', 'NodeNotReady', why === '' ? what : `${what}: ${why}`)
}

function readyOf(seen: Seen, phase: MachinePhase, joining: Waiting | undefined): WantedCondition {
  const { machine, node } = seen
  const not = (reason: Reason, message: string) => condition('Ready', 'False', reason, message)
  // A machine that is being deleted serves like any other until it is drained.
  const isLeaving = phase === 'Deleting' && (!isInService(seen) || isCordonedBy(node, DELETE_OWNER))
  if (phase === 'Draining' || isLeaving) return not('Deleting', 'the machine is being removed')
  if (phase === 'Lost')
    return joining?.because === undefined
      ? not('LeaseExpired', 'no heartbeat from its agent or its Node')
      : not(joining.because, joining.seen)
  if (phase === 'Failed') return not('ProviderError', 'the provider cannot create it')
  if (isNodeDeleted(seen)) return not('NodeMissing', `Node ${machine.status?.nodeRef?.name ?? ''} was deleted`)
  if (phase === 'Joining' && joining?.because !== undefined) return not(joining.because, joining.seen)
  if (!hasJoined(seen) || node === undefined || phase === 'Installing' || isFirstInstall(seen)) {
    const stall = acceptanceStall(seen)
    if (stall !== undefined) return not('AcceptanceFailed', stall)
    const stuck =
      phase === 'Installing' ? stuckIn(missingComponents(machine, machine.spec.components ?? [])) : undefined
    return stuck === undefined
      ? not('Progressing', `phase ${phase}`)
      : not(stuck.reason, `component ${stuck.name}: ${stuck.what}`)
  }
  const reachable = agentReachable(seen)
  if (reachable.reason === 'Rebooting') return not('Rebooting', reachable.message)
  if (reachable.status !== 'True') return not('LeaseExpired', 'no heartbeat from its agent')
  if (!isNodeReady(node)) return nodeNotReady(node)
  const [broken] = disturbedComponents(machine)
  if (broken !== undefined) return not(broken.reason, `component ${broken.name}: ${broken.what}`)
  if (isClosed(seen)) {
    const wait = acceptanceWait(seen)
    return not(
      wait?.because ?? 'Progressing',
      wait?.seen ?? 'its Node registered again; its startup taint is not removed yet',
    )
  }
  return condition('Ready', 'True', 'AllHealthy', 'the node is Ready and its components are healthy')
}

const WAITS: Readonly<Record<string, Reason>> = {
  PermitGranted: 'PermitRequested',
  PermitDenied: 'PermitDenied',
  Drained: 'WaitingForDrain',
}

const SETTLED: ReadonlySet<MachinePhase> = new Set(['Ready', 'NotReady', 'Lost', 'Failed'])

function reconcilingOf(seen: Seen, plan: MachinePlan, phase: MachinePhase): WantedCondition {
  const { hold } = seen
  const notAccepted = acceptanceStall(seen)
  const isMoving = phase === 'Deleting' || phase === 'Draining' || plan.waiting !== undefined
  if (notAccepted !== undefined && !isMoving) return condition('Reconciling', 'False', 'AcceptanceFailed', notAccepted)
  if (plan.waiting !== undefined) {
    const held: Reason = hold?.spec.effect === 'Pause' ? 'HoldPause' : 'HoldFreeze'
    const reason =
      plan.waiting.predicate === 'NotHeld'
        ? held
        : (plan.waiting.because ?? WAITS[plan.waiting.predicate] ?? 'WaitingForOther')
    return condition('Reconciling', 'True', reason, `${plan.waiting.seen}; unblocks when ${plan.waiting.unblock}`)
  }
  if (SETTLED.has(phase)) return condition('Reconciling', 'False', 'AsDeclared', 'no changes in progress')
  return condition('Reconciling', 'True', 'Progressing', `phase ${phase}`)
}

/** Changes that the agent found and does not fix by itself. Only for machines in service. */
function consistent(seen: Seen): WantedCondition[] {
  const { components = [], foreignFiles = [] } = seen.machine.status ?? {}
  if (isFirstInstall(seen) || !hasJoined(seen)) return []
  const drifted = components.find((c) => c.drifted !== undefined)
  if (drifted !== undefined)
    return [condition('ComponentsConsistent', 'False', 'FileChanged', `${drifted.name}: ${drifted.drifted ?? ''}`)]
  const [foreign] = foreignFiles
  if (foreign !== undefined) {
    const more = foreignFiles.length === 1 ? '' : ` and ${foreignFiles.length - 1} more`
    return [
      condition('ComponentsConsistent', 'False', 'FileChanged', `files not managed by KubeNode: ${foreign}${more}`),
    ]
  }
  return [condition('ComponentsConsistent', 'True', 'AsDeclared', 'files and processes match the installed components')]
}

/** A component keeps changing on the host, and the limit of fresh copies is reached. */
function unmendable({ machine }: Seen, now: number): string | undefined {
  const found = (machine.spec.components ?? []).find((entry) => {
    const report = machine.status?.components?.find((c) => c.name === entry.name)
    return report?.drifted !== undefined && isPastFreshCopies(entry, now)
  })
  if (found === undefined) return undefined
  const drifted = machine.status?.components?.find((c) => c.name === found.name)?.drifted ?? ''
  return `${found.name} is changed again after ${MOST_FRESH_COPIES} fresh copies: ${drifted}; find who does it on the node`
}

function stalledOf(seen: Seen, now: number): WantedCondition {
  const { machine, host } = seen
  const drift = unmendable(seen, now)
  if (drift !== undefined) return condition('Stalled', 'True', 'DriftPersists', drift)
  const notAccepted = acceptanceStall(seen)
  if (notAccepted !== undefined) return condition('Stalled', 'True', 'AcceptanceFailed', notAccepted)
  const unserved = unservedWait(machine)
  if (unserved !== undefined)
    return condition('Stalled', 'True', 'InvalidSpec', `${unserved.seen}; name ${unserved.unblock}`)
  if (host.kind === 'NoProvider')
    return condition(
      'Stalled',
      'True',
      'ReferenceMissing',
      `no controller serves provider ${machine.spec.provider?.name ?? ''}; correct the name in the template, or configure the provider`,
    )
  return condition('Stalled', 'False', 'AsDeclared', 'no manual intervention needed')
}

/** While it is unknown, the last condition stays. */
function agentReachable(seen: Seen): WantedCondition {
  const { machine, agentHeartbeat } = seen
  const alive = isBeating(agentHeartbeat)
  const reboot = rebooting(machine)
  if (alive === false && reboot !== undefined && isBeating(agentHeartbeat, lostAfterMs(seen)) !== false)
    return condition('AgentReachable', 'False', 'Rebooting', rebootText(machine, reboot))
  if (alive === true) return condition('AgentReachable', 'True', 'LeaseRenewed', 'its agent renews its Lease')
  if (alive === false)
    return condition('AgentReachable', 'False', 'LeaseExpired', 'its agent no longer renews its Lease')
  if (agentHeartbeat.kind === 'None')
    return condition('AgentReachable', 'Unknown', 'NotYetObserved', 'no heartbeat from its agent yet')
  const before = findCondition(machine.status?.conditions, 'AgentReachable')
  return before?.status === 'False'
    ? condition('AgentReachable', 'False', 'LeaseExpired', 'its agent no longer renews its Lease')
    : condition('AgentReachable', 'True', 'LeaseRenewed', 'its agent renews its Lease')
}

function nodeReady({ node }: Seen): WantedCondition {
  if (node === undefined) return condition('NodeReady', 'Unknown', 'NotYetObserved', 'its Node does not exist')
  const ready = node.status?.conditions?.find((c) => c.type === 'Ready')
  if (ready === undefined)
    return condition('NodeReady', 'Unknown', 'NotYetObserved', 'the Node reports no Ready condition')
  if (ready.status === 'True') return condition('NodeReady', 'True', 'AsDeclared', 'the Node is Ready')
  return condition('NodeReady', ready.status, 'WaitingForOther', `${ready.reason}: ${ready.message}`)
}

function joined(seen: Seen): WantedCondition {
  if (hasJoined(seen) || hadJoined(seen))
    return condition('Joined', 'True', 'JoinComplete', 'its agent has a certificate of its own')
  return condition('Joined', 'False', 'Progressing', 'its agent has not joined yet')
}

function cordoned({ node }: Seen): WantedCondition[] {
  if (node === undefined) return []
  const read = cordonOwners(node)
  const owners = read.kind === 'Owners' ? Object.keys(read.owners) : ['?']
  if (owners.length > 0) return [condition('Cordoned', 'True', 'CordonedByUs', `kept by ${owners.join(', ')}`)]
  if (node.spec?.unschedulable === true)
    return [condition('Cordoned', 'True', 'CordonedByPeople', 'cordoned by a user (spec.unschedulable)')]
  return [condition('Cordoned', 'False', 'AsDeclared', 'schedulable')]
}
