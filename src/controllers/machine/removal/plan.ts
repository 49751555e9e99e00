// Decides how a machine leaves: permit, cordon, drain, components, host, node, leftovers, finalizer. Each step is verified before the next. Pure.
import type { Machine } from '#api/kinds/machine.ts'
import type { OperationPermit } from '#api/kinds/operation-permit.ts'
import { FIELD_MANAGERS } from '#api/names.ts'
import { isBeingDeleted, nameOf, uidOf } from '#api/schema/object-meta.ts'
import { counted } from '#lib/counted.ts'
import { endsIn } from '#permits/holds/in-force.ts'
import { isOfKubelet, type Pod } from '#nodes/objects.ts'
import { isCordonedBy } from '#nodes/cordon.ts'
import { drainPlan, podsLeftText } from '#nodes/drain.ts'
import type { PodWaits } from '#nodes/pod-waits.ts'
import { isObserved } from '#nodes/machine-node.ts'
import { type Holding, type NotGranted, type Need, actionsOf, holdPermit, reportOf } from '#permits/holder.ts'
import { LEASES } from '#permits/leases.ts'
import { namesOf, nextPermitName, numbered } from '#permits/permit-names.ts'
import { permitAnswer, requesterOf, targetRef } from '#permits/permits.ts'
import { type Authority, byPermit } from '#permits/under-permit.ts'
import { MOST_SENTENCE_CHARS } from '#runtime/waiting.ts'
import { shortened } from '#lib/shortened.ts'
import {
  DELETE_OWNER,
  DRAIN_REQUEUE_MS,
  type MachineAction,
  type MachinePlan,
  type Waiting,
  noticeOf,
  removalWaits,
} from '../actions.ts'
import { isBeating } from '../heartbeats/heartbeats.ts'
import { handedBackNode } from '../node/sync.ts'
import { hasAgent, hasLeft, isDisturbed, isGivenUp, planLeaving, switchWait } from './hand-back.ts'
import { isInDoubt } from '../provisioning/attempts.ts'
import { type Seen, hasFinalizer, isLost, isProvided, mayServe, neverHadAgent } from '../seen.ts'
import { defined } from '#lib/defined.ts'

const HOST_REQUEUE_MS = 2_000
const PERMIT_REQUEUE_MS = 10_000

export function planDelete(seen: Seen, now: number): MachinePlan {
  if (!hasFinalizer(seen.machine)) return { actions: [], notices: [] }
  if (!isProvided(seen.machine))
    return hasEverJoined(seen.machine) ? leave(unprovided(seen), now) : lastSteps(seen, now)
  if (seen.host.kind === 'Gone' && !seen.isHostKept) {
    if (!isAtWork(seen)) return lastSteps(seen, now)
    const isTooLong = now - Date.parse(seen.machine.metadata.deletionTimestamp ?? '') >= BELIEVED_FOR_MS
    return isTooLong
      ? leave(unprovided(seen), now)
      : waitFor({ predicate: HOST_KNOWN, ...AGENT_WITHOUT_HOST }, HOST_REQUEUE_MS)
  }
  return seen.host.kind === 'NoProvider' ? withoutProvider(seen, now) : leave(seen, now)
}

/**
 * How long a host's reports can delay its removal. A thief of its agent's or kubelet's key can renew Leases and never report that a pod ended. After
 * this time, a host unknown to its provider is released as if it had no provider, and its overdue pods are left to it.
 */
const BELIEVED_FOR_MS = 60 * 60_000

/** Longer than a hub or its configuration is accidentally missing. A host abandoned here may cost money until a person deletes it. */
const ABANDON_WITHOUT_PROVIDER_MS = 60 * 60_000
const HOST_KNOWN = 'HostKnown'

/**
 * The provider is not configured here and may never be; its name may be a typo. If no request was sent, or the last one was refused, there is no
 * host.
 */
function withoutProvider(seen: Seen, now: number): MachinePlan {
  const { spec, status } = seen.machine
  const mayHaveHost =
    spec.providerID !== undefined || status?.provisioning?.providerID !== undefined || isInDoubt(seen.machine)
  if (!mayHaveHost && neverHadAgent(seen)) return lastSteps(seen, now)
  const { predicate, since } = status?.waitingFor ?? {}
  const isOverdue = predicate === HOST_KNOWN && now - Date.parse(since ?? '') >= ABANDON_WITHOUT_PROVIDER_MS
  const isSilent = seen.agentHeartbeat.kind === 'None' || isBeating(seen.agentHeartbeat) === false
  return isOverdue && isSilent && seen.hold === undefined ? abandoned(unprovided(seen), now) : leave(seen, now)
}

const hasEverJoined = ({ status }: Machine): boolean => status?.nodeRef !== undefined || status?.agent !== undefined

/**
 * The host's provider is no longer configured, but the host still works: it is drained like any other, and stays. A Node that only has the same name
 * is not touched.
 */
function unprovided(seen: Seen): Seen {
  const isOwnNode = seen.node !== undefined && seen.node.metadata.uid === seen.machine.status?.nodeRef?.uid
  return { ...seen, isHostKept: true, node: isOwnNode ? seen.node : undefined }
}

/**
 * The host is alive, and still has components or was not cordoned for its removal. False once it is drained or stopped. If true although the provider
 * does not know the host, the provider is mistaken or the wrong one was asked. A kubelet serves without our agent too.
 */
const isAtWork = (seen: Seen): boolean => {
  const isAlive = isBeating(seen.agentHeartbeat) === true || isBeating(seen.nodeHeartbeat) === true
  const isClosed = seen.node === undefined || isCordonedBy(seen.node, DELETE_OWNER)
  const isEmptied = (seen.machine.spec.components ?? []).length === 0 && isClosed
  return mayServe(seen) && isAlive && !isEmptied
}

const AGENT_WITHOUT_HOST = {
  seen: 'the provider does not know the host, but its agent or its Node still sends heartbeats',
  unblock: 'spec.provider names the provider that created the host, or the host stops',
}

function leave(seen: Seen, now: number): MachinePlan {
  if (seen.hold !== undefined)
    return waitFor(
      {
        predicate: 'NotHeld',
        seen: `${seen.hold.spec.effect} of ${seen.hold.spec.author} until ${seen.hold.spec.until}`,
        unblock: `OperationalHold ${seen.hold.metadata.name ?? ''} ends`,
      },
      endsIn(seen.hold, now),
    )
  if (seen.isHostKept) return planHandBack(seen, now)
  if (seen.host.kind !== 'Host') return waitFor({ predicate: HOST_KNOWN, ...hostTrouble(seen) }, HOST_REQUEUE_MS)
  return mayServe(seen)
    ? emptied(seen, now)
    : step(deleteHost(seen, { exempt: 'NeverServed' }, unservedReason(seen.machine)), HOST_REQUEUE_MS)
}

const unservedReason = ({ status }: Machine): string =>
  status?.inServiceSince === undefined
    ? 'the machine never ran workloads'
    : 'its Node was deleted, and neither its agent nor its kubelet reports'

/**
 * A kept host needs a permit like any other. It is drained only if something on it will restart. A host that never had an agent needs no permit:
 * nothing on it has to stop. If an agent joins in the meantime, the key on record makes the finalizer's removal stale.
 */
export function planHandBack(seen: Seen, now: number): MachinePlan {
  if (neverHadAgent(seen)) return lastSteps(seen, now)
  if (isGivenUp(seen, now)) return abandoned(seen, now)
  const isUnderWay = seen.machine.spec.leaving === true || hasLeft(seen.machine)
  if (!mayServe(seen) || isUnderWay) return renewed(seen, now, handedBack(seen, now))
  // A requested permit ended the wait.
  const waiting = removalPermits(seen).length === 0 ? switchWait(seen, now) : undefined
  return waiting === undefined ? emptied(seen, now) : waitFor(waiting, HOST_REQUEUE_MS)
}

/** The permit covers the whole removal, which may take longer than its lease. */
function renewed(seen: Seen, now: number, then: MachinePlan): MachinePlan {
  if (then.actions.some((a) => a.kind === 'ReportResult')) return then
  const held = removalPermit(seen)
  return held.kind === 'Granted' ? withFirst(actionsOf(held, now, 'the host is still being handed back'), then) : then
}

function hostTrouble({ machine, host }: Seen): Pick<Waiting, 'seen' | 'unblock'> {
  const provider = machine.spec.provider?.name ?? ''
  if (host.kind === 'NoProvider')
    return {
      seen: `no provider ${provider} is configured; a host that stays silent is given up after ${ABANDON_WITHOUT_PROVIDER_MS / 60_000}m, and listed in ConfigMap kubenode-abandoned`,
      unblock: `a person configures provider ${provider} in the controllers, or removes spec.provider: then the host stays`,
    }
  return {
    seen: host.kind === 'Unknown' ? host.why : 'the provider was not queried yet',
    unblock: 'the provider answers',
  }
}

const step = (action: MachineAction, requeueAfter?: number): MachinePlan => ({
  actions: [action],
  notices: noticeOf(action),
  doing: 'Deleting',
  ...defined({ requeueAfter }),
})

const waitFor = (waiting: Waiting, requeueAfter: number): MachinePlan => ({
  actions: [],
  notices: [],
  doing: 'Deleting',
  waiting,
  requeueAfter,
})

function deleteHost({ machine, host }: Seen, by: Authority, reason: string): MachineAction {
  const providerID = host.kind === 'Host' ? host.host.providerID : (machine.spec.providerID ?? '')
  return { kind: 'DeleteHost', providerID, by, reason }
}

/** The set's permit to scale in works as well as the machine's own. So does that of a repair that replaces the machine, while it is granted. */
const removalPermits = ({ machine, permits }: Seen): readonly OperationPermit[] =>
  permits.filter((permit) => {
    const { operations, targets } = permit.spec
    if (!targets.some((t) => t.uid === uidOf(machine))) return false
    if (operations.includes('ScaleIn')) return true
    return operations.includes('Replace') && permitAnswer(permit, uidOf(machine)).kind === 'Granted'
  })

const isOwn = (p: OperationPermit): boolean => p.spec.requester.manager === FIELD_MANAGERS.machine

/** Object names have at most 253 characters, and the rest of this name takes some. */
const MOST_NAME_CHARS = 200

function removalPermit(seen: Seen): Holding {
  const { machine, refusedFor } = seen
  const serving = removalPermits(seen)
  const own = serving.filter(isOwn)
  const names = numbered(`remove-${nameOf(machine).slice(0, MOST_NAME_CHARS)}-${uidOf(machine).slice(0, 8)}-`)
  const need: Need = {
    permit: nextPermitName(names, namesOf(own)),
    reason: 'removal of a machine in service',
    request: {
      operations: ['ScaleIn'],
      targets: [targetRef('Machine', machine)],
      requester: requesterOf(FIELD_MANAGERS.machine, 'Machine', machine),
      reason: shortened(`removal of machine ${nameOf(machine)}`, MOST_SENTENCE_CHARS),
      leaseSeconds: LEASES.renewed,
    },
  }
  return holdPermit(need, { own, others: serving.filter((p) => !isOwn(p)), endedFor: refusedFor })
}

function withoutPermit(held: NotGranted): MachinePlan {
  if (held.kind === 'Ask') return step(held.action, PERMIT_REQUEUE_MS)
  const { wait, permit } = held
  const waiting: Waiting =
    held.kind === 'Wait'
      ? { ...wait, predicate: 'PermitGranted', because: wait.predicate }
      : { ...wait, seen: `OperationPermit ${permit.metadata.name ?? ''} was denied: ${wait.seen}` }
  return waitFor(waiting, PERMIT_REQUEUE_MS)
}

function emptied(seen: Seen, now: number): MachinePlan {
  const { pods } = seen
  const held = removalPermit(seen)
  if (held.kind !== 'Granted') return withoutPermit(held)
  const renew = actionsOf(held, now, 'the machine is still being removed')
  const by = byPermit(held.permit)
  const waits = waitsOf(seen, held.permit, now)
  const next = emptyingStep(seen, { by, waits }, now)
  if (next === 'Empty') return withFirst(renew, seen.isHostKept ? handedBack(seen, now) : removed(seen, by, now))
  const isDraining = pods !== undefined
  const actions = [...renew, ...(next === undefined ? [] : [next])]
  return {
    actions,
    notices: actions.flatMap(noticeOf),
    requeueAfter: DRAIN_REQUEUE_MS,
    doing: isDraining ? 'Draining' : 'Deleting',
    ...(isDraining && {
      waiting: { predicate: 'Drained', seen: podsLeftText(seen.pods, waits), unblock: 'the pods have left the node' },
    }),
  }
}

const withFirst = (first: readonly MachineAction[], { actions, notices, ...rest }: MachinePlan): MachinePlan => ({
  ...rest,
  actions: [...first, ...actions],
  notices: [...first.flatMap(noticeOf), ...notices],
})

/** After this the host is deleted with its components: an agent that does not finish must not block the deletion. */
const UNINSTALL_WITHIN_MS = 120_000

/** If the agent is still reachable, it uninstalls its components first. */
function uninstalling(seen: Seen, by: Authority, now: number): MachinePlan | undefined {
  const { machine, agentHeartbeat } = seen
  if (isBeating(agentHeartbeat) !== true) return undefined
  if ((machine.spec.components ?? []).length > 0)
    return step({ kind: 'Uninstall', by, reason: 'the machine is being removed' }, HOST_REQUEUE_MS)
  const left = machine.status?.components ?? []
  const { predicate, since } = machine.status?.waitingFor ?? {}
  const isOverdue = predicate === 'Uninstalled' && now - Date.parse(since ?? '') >= UNINSTALL_WITHIN_MS
  if (left.length === 0 || isOverdue) return undefined
  const what = `${counted(left.length, 'component', 'components')} left to uninstall, such as ${left[0]?.name ?? ''}`
  return waitFor({ predicate: 'Uninstalled', seen: what, unblock: 'the agent has uninstalled them' }, HOST_REQUEUE_MS)
}

const removed = (seen: Seen, by: Authority, now: number): MachinePlan =>
  uninstalling(seen, by, now) ?? step(deleteHost(seen, by, 'the machine is empty'), HOST_REQUEUE_MS)

/** A machine that never served is released without a permit. */
export function leavingBy(seen: Seen): Authority {
  if (!mayServe(seen)) return { exempt: 'NeverServed' }
  const held = removalPermit(seen)
  return { permit: held.kind === 'Granted' ? (held.permit.metadata.name ?? '') : '' }
}

/** The host stays. KubeNode's parts are removed from it and its Node, and its previous owner has it back. */
function handedBack(seen: Seen, now: number): MachinePlan {
  const next = planLeaving(seen, leavingBy(seen), now)
  if (next === 'Left') return lastSteps(seen, now)
  return next === 'Abandoned' ? abandoned(seen, now) : next
}

function abandoned(seen: Seen, now: number): MachinePlan {
  const reason = 'its agent did not answer before the deadline'
  return withFirst([{ kind: 'RecordAbandoned', reason }], lastSteps(seen, now))
}

/** Together with the finalizer: a reconcile in between would find a node to drain, and cordon it again. */
function handBackActions({ node, isHostKept }: Seen, now: number): MachineAction[] {
  const isOurs = node !== undefined && isHostKept && handedBackNode(node, now).kind === 'Write'
  return isOurs ? [{ kind: 'HandBackNode', reason: 'the host is kept' }] : []
}

/** A pod's deletion time is the end of its grace period. */
const shouldHaveEnded = ({ metadata }: Pod, now: number): boolean =>
  now - Date.parse(metadata.deletionTimestamp ?? '') >= BELIEVED_FOR_MS

/** A repair that replaces the machine has drained it in its own way, and the pods of a lost machine save nothing. */
const waitsOf = (seen: Seen, { spec }: OperationPermit, now: number): PodWaits | undefined =>
  isLost(seen) || spec.operations.includes('Replace') ? undefined : removalWaits(seen, now)

interface Emptying {
  readonly by: Authority
  readonly waits: PodWaits | undefined
}

function emptyingStep(seen: Seen, { by, waits }: Emptying, now: number): MachineAction | 'Empty' | undefined {
  const { machine, node, pods } = seen
  if (seen.isHostKept && !isDisturbed(machine)) return 'Empty'
  if (node !== undefined && !isCordonedBy(node, DELETE_OWNER))
    return {
      kind: 'Cordon',
      owner: DELETE_OWNER,
      claim: { reason: `machine ${nameOf(machine)} is being deleted` },
      by,
      reason: 'no new pods on a machine that is being removed',
    }
  if (pods === undefined) return undefined
  const { evict, going, waiting } = drainPlan(pods, defined({ waits }))
  // Pods on other nodes may have saved the work that it waits for.
  if (evict.length > 0 || waiting.length > 0)
    return { kind: 'Drain', by, reason: 'the machine is being removed', ...defined({ waits }) }
  // Pods of a silent host never report their end. They end with the host.
  return going.some((p) => !shouldHaveEnded(p, now)) && !isLost(seen) ? undefined : 'Empty'
}

/** The host was deleted or is not ours to delete: remove the objects that represent it. */
function lastSteps(seen: Seen, now: number): MachinePlan {
  const { machine, node, agentHeartbeat, nodeHeartbeat } = seen
  const isNodeKept = seen.isHostKept && isOfKubelet(seen.node)
  const isNodeOurs = isProvided(machine) || seen.isHostKept
  const actions: MachineAction[] = [
    ...(node !== undefined && isNodeOurs && !isNodeKept
      ? [{ kind: 'DeleteNode', reason: 'its host was deleted' } as const]
      : []),
    ...(isNodeKept ? handBackActions(seen, now) : []),
    // The order to an abandoned host stays, in case it comes back.
    ...(isObserved(machine) && !isBeingDeleted(machine) && !hasAgent(machine)
      ? [{ kind: 'ClearOrders', reason: 'the machine is only observed' } as const]
      : []),
    // If the host stays, its provider only forgets it.
    ...(seen.isHostKept && seen.host.kind === 'Host'
      ? [deleteHost(seen, { exempt: 'HostKept' }, 'its machine is being removed')]
      : []),
    ...(agentHeartbeat.kind === 'None' && nodeHeartbeat.kind === 'None'
      ? []
      : [{ kind: 'DeleteLease', withNode: isNodeOurs && !isNodeKept, reason: 'its agent was removed' } as const]),
    { kind: 'RemoveFinalizer', reason: 'cleanup of the machine is complete' },
    // Last: if the finalizer cannot be removed now, the machine still has its permit and needs no second one.
    ...removalPermits(seen)
      .filter(isOwn)
      .flatMap((p) => reportOf(p, uidOf(machine), 'Succeeded', 'the machine was deleted')),
  ]
  return { actions, notices: actions.flatMap(noticeOf), doing: 'Deleting' }
}
