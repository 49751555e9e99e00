// Decides the next steps of a machine that stays: created or taken over, joined, installed, kept as declared, switched. Pure. removal/plan.ts covers
// how it leaves.
import { defined } from '#lib/defined.ts'
import type { ComponentOrder } from '#api/kinds/machine.ts'
import type { OperationalHold } from '#api/kinds/operational-hold.ts'
import { freshCopyAgainAt, isPastFreshCopies } from '#api/protocol/fresh-copy.ts'
import { POWER_CYCLE_AFTER_MS, RETURNS_WITHIN_MS } from '#api/protocol/rebooting.ts'
import { letGoFrom } from '#api/protocol/let-go.ts'
import { isBeingDeleted, nameOf, uidOf } from '#api/schema/object-meta.ts'
import { endsIn, isNodeFrozen } from '#permits/holds/in-force.ts'
import { isHandedOver, tokenExpiresAt } from '#identity/join-token.ts'
import { readmissionOf } from '#identity/readmitted.ts'
import { untilLateJoin } from './provisioning/late-join.ts'
import { podsLeftText } from '#nodes/drain.ts'
import { isObserved, nodeNameOf } from '#nodes/machine-node.ts'
import { isNodeReady } from '#nodes/objects.ts'
import type { PodWaits } from '#nodes/pod-waits.ts'
import { SECRET_REQUEUE_MS } from '#identity/secrets/secret-refs.ts'
import { DRAIN_REQUEUE_MS, type MachineAction, type MachinePlan, isDrained, noticeOf, switchWaits } from './actions.ts'
import { desiredComponents } from './components/desired.ts'
import { LOST_AFTER_MS, SILENT_AFTER_MS, isBeating, untilSilentMs } from './heartbeats/heartbeats.ts'
import { acceptancePlan } from './acceptance/plan.ts'
import { areComponentsIn, claimActions, cordonActions, drainActions, nodeActions } from './node/plan.ts'
import { handedBackNode } from './node/sync.ts'
import { type Orders, changedComponents, planOrders } from './components/orders.ts'
import { leavingBy, planDelete, planHandBack } from './removal/plan.ts'
import { hasAgent, hasLeft, planLeaving } from './removal/hand-back.ts'
import { provisionPlan } from './provisioning/plan.ts'
import { isInDoubt } from './provisioning/attempts.ts'
import { DOUBT_REQUEUE_MS, isPowerCycleDoubted, powerCycleActions } from './reboots/plan.ts'
import { type SealingPlan, planSealing, sealingKeyOf } from './secrets/sealing.ts'
import {
  type Seen,
  hadJoined,
  hasFinalizer,
  hasJoined,
  isClosed,
  isLost,
  isOverSsh,
  isProvided,
  lostAfterMs,
} from './seen.ts'
import { unservedWait } from './reporting/waits.ts'
import { replaceActions, untilNextOf, workloadReadings } from './workloads/plan.ts'
import { isWorkload } from './workloads/state.ts'

const PROVISION_REQUEUE_MS = 2_000

export function plan(seen: Seen, now: number): MachinePlan {
  const { machine } = seen
  if (isObserved(machine)) return planObserved(seen, now)
  if (isBeingDeleted(machine)) return planDelete(seen, now)
  if (machine.spec.leaving === true) return planStillLeaving(seen, now)
  if (hasLeft(machine) && seen.joinToken === undefined) return planLeft(seen, now)
  const unserved = unservedWait(machine)
  if (unserved !== undefined) return { actions: [], notices: [], waiting: unserved }
  if (!isProvided(machine)) return { actions: [], notices: [] }
  const leftovers = leftoverActions(seen)
  if (leftovers.length === 0) return planManaged(seen, now)
  if (seen.leftoverLease !== undefined && (hasJoined(seen) || hadJoined(seen)))
    return { actions: leftovers, notices: [] }
  const { idle: _, ...rest } = planManaged(seen, now)
  return { ...rest, actions: [...rest.actions, ...leftovers] }
}

/**
 * Leftovers of an earlier Machine's agent. These come last: whatever created them may recreate them at once, and the machine must join all the same.
 */
function leftoverActions({ leftoverLease, leftoverNode }: Seen): MachineAction[] {
  return [
    ...(leftoverLease === undefined
      ? []
      : [
          {
            kind: 'DeleteLeftoverLease',
            lease: leftoverLease,
            reason: 'the heartbeat is of an earlier machine of this name',
          } as const,
        ]),
    ...(leftoverNode === undefined
      ? []
      : [
          {
            kind: 'DeleteLeftoverNode',
            node: leftoverNode,
            reason: 'the node is of an earlier machine of this name, which has no host and no running pod',
          } as const,
        ]),
  ]
}

function planManaged(seen: Seen, now: number): MachinePlan {
  const { machine } = seen
  if (!hasFinalizer(machine))
    return onlyThen({ kind: 'AddFinalizer', reason: 'the machine needs cleanup before it is deleted' })
  if (seen.earlierNode !== undefined) return earlierWait(seen.earlierNode)
  const provision = provisionReason(seen, now)
  if (provision !== undefined && seen.hold !== undefined) return heldBack(seen.hold, provision, now)
  if (provision !== undefined && !isTokenValid(seen, now))
    return tokenWait(now - Date.parse(machine.metadata.creationTimestamp ?? ''))
  if (provision !== undefined) return provisionPlan(seen, provision, now)
  const waits = switchWaits(seen, now)
  const { components, orders } = componentsOf(seen, waits)
  const workloads = workloadReadings(seen, now)
  const acceptance = acceptancePlan(seen, isNodeReady(seen.node) && areComponentsIn(seen, components), now)
  const publicKey = sealingKeyOf(seen.machine)
  const sealing = planSealing(publicKey, seen.sealing ?? [], seen.idleSealed ?? [])
  const actions: MachineAction[] = [
    ...hostActions(seen),
    // Before the configuration is assigned: the agent reads the values as soon as it sees the assignment.
    ...sealActions(sealing, publicKey),
    ...componentActions(seen, components, orders),
    ...workloads.flatMap((reading) => replaceActions(seen, reading)),
    ...cordonActions(seen, components, orders),
    ...drainActions(seen, orders, waits),
    ...claimActions(seen),
    ...acceptance.actions.filter((a) => a.kind === 'EndAcceptancePod'),
    ...nodeActions(seen, components),
    ...powerCycleActions(seen),
    // Last: a cluster may refuse it, and nothing else waits for it.
    ...acceptance.actions.filter((a) => a.kind !== 'EndAcceptancePod'),
  ]
  const others = [
    ...(isLost(seen) ? [LOST_REQUEUE_MS] : []),
    ...(isPowerCycleDoubted(seen) ? [DOUBT_REQUEUE_MS] : []),
    ...(seen.hold === undefined ? [] : [endsIn(seen.hold, now)]),
    ...workloads.map(untilNextOf),
    ...(orders.draining.length > 0 ? [DRAIN_REQUEUE_MS] : []),
    orders.withdrawInMs,
    acceptance.requeueAfter,
    ...(seen.machine.spec.components ?? []).map((c) =>
      isPastFreshCopies(c, now) ? Math.max(1_000, freshCopyAgainAt(c) - now) : undefined,
    ),
    ...(sealing.wait === undefined ? [] : [SECRET_REQUEUE_MS]),
    seen.joinToken && Math.min(TOKEN_RECHECK_MS, Math.max(1_000, tokenExpiresAt(seen.joinToken) - now)),
    ...(seen.host.kind === 'Unknown' || awaitsToken(seen, now) ? [PROVISION_REQUEUE_MS] : []),
    // From then on, the wait is reported differently.
    untilLateJoin(seen, now) || undefined,
  ].filter((ms) => ms !== undefined)
  const dueMs = [...untilSilent(seen).filter((ms) => ms !== undefined), ...others]
  const [drain] = orders.draining
  return {
    actions,
    acceptance,
    notices: [...actions.flatMap(noticeOf), ...acceptance.notices],
    reports: workloads.map((reading) => reading.report),
    ...(dueMs.length > 0 && { requeueAfter: Math.min(...dueMs) }),
    ...(actions.length === 0 && {
      idle: { bounds: silenceBounds(seen), otherMs: others.length === 0 ? undefined : Math.min(...others) },
    }),
    ...(drain === undefined
      ? { ...sealWait(sealing), ...joinWait(seen) }
      : {
          doing: 'Draining' as const,
          waiting: {
            predicate: 'Drained',
            seen: podsLeftText(seen.pods, waits),
            unblock: 'the pods have left the node',
          },
        }),
  }
}

/** What keeps a machine Lost or ends it may change without an event, above all at the provider. */
const LOST_REQUEUE_MS = 30_000

/** One list for all machines that are lost after the same time: each machine keeps a reference to its list. */
const BOUNDS: ReadonlyMap<number, readonly number[]> = new Map([
  [LOST_AFTER_MS, [SILENT_AFTER_MS, LOST_AFTER_MS]],
  [RETURNS_WITHIN_MS, [SILENT_AFTER_MS, RETURNS_WITHIN_MS]],
  [2 * RETURNS_WITHIN_MS, [SILENT_AFTER_MS, POWER_CYCLE_AFTER_MS, 2 * RETURNS_WITHIN_MS]],
])
const silenceBounds = (seen: Seen): readonly number[] => BOUNDS.get(lostAfterMs(seen)) ?? []

const untilSilent = (seen: Seen): readonly (number | undefined)[] =>
  silenceBounds(seen).flatMap((bound) => [
    untilSilentMs(seen.agentHeartbeat, bound),
    untilSilentMs(seen.nodeHeartbeat, bound),
  ])

/**
 * An observed machine is only read, even during deletion. If it was managed before, its agent leaves first and the components stay. Its host is not
 * touched.
 */
function planObserved(seen: Seen, now: number): MachinePlan {
  const { machine } = seen
  const isLeft = !hasAgent(machine) && machine.spec.leaving !== true && (machine.spec.components ?? []).length === 0
  if (hasFinalizer(machine) && !isLeft)
    return seen.hold === undefined || machine.spec.leaving === true
      ? planHandBack({ ...seen, isHostKept: true }, now)
      : heldBack(seen.hold, 'its agent leaves the host', now)
  const { providerID } = machine.spec
  const actions: MachineAction[] = [
    // If the host stays, its provider only forgets it.
    ...(hasFinalizer(machine) && seen.isHostKept && providerID !== undefined
      ? [
          {
            kind: 'DeleteHost',
            providerID,
            by: { exempt: 'HostKept' },
            reason: 'the machine is observed only',
          } as const,
        ]
      : []),
    ...(hasFinalizer(machine)
      ? [{ kind: 'RemoveFinalizer', reason: 'an observed machine needs no cleanup' } as const]
      : []),
  ]
  const dueMs = untilSilent(seen).filter((ms) => ms !== undefined)
  const requeue = dueMs.length > 0 && { requeueAfter: Math.min(...dueMs) }
  if (seen.node !== undefined) return { actions, notices: [], ...requeue }
  const waiting = {
    predicate: 'NodeExists',
    seen: `node ${nodeNameOf(seen.machine)} not found`,
    unblock: 'the Node registers, or the Machine is deleted',
  }
  return { actions, notices: [], waiting, ...requeue }
}

/** Once ordered to leave, the agent continues, whatever the channel is now. Afterwards the machine may join again. */
function planStillLeaving(seen: Seen, now: number): MachinePlan {
  const next = planLeaving(seen, leavingBy(seen), now)
  return typeof next === 'object'
    ? next
    : onlyThen({ kind: 'ClearOrders', reason: 'its agent left, and the machine is managed again' })
}

/** A person on the host made its agent leave. Our changes to its Node are removed, and the Machine waits. */
function planLeft(seen: Seen, now: number): MachinePlan {
  const { machine, node, agentHeartbeat } = seen
  const isMarked = node !== undefined && handedBackNode(node, now).kind === 'Write'
  const actions: MachineAction[] = [
    ...(isMarked ? [{ kind: 'HandBackNode', reason: 'its agent left the host' } as const] : []),
    ...(agentHeartbeat.kind === 'None'
      ? []
      : [{ kind: 'DeleteLease', withNode: false, reason: 'its agent left the host' } as const]),
  ]
  const name = nameOf(machine)
  const waiting = {
    predicate: 'AgentJoined',
    seen: 'a person on its host made the agent leave',
    unblock: `a person deletes the Machine, or lets the host join again: kubenode machine readmit ${name} --token, then kubenode machine join-command ${name}`,
    because: 'AgentLeft' as const,
  }
  return { actions, notices: actions.flatMap(noticeOf), waiting }
}

function heldBack(hold: OperationalHold, what: string, now: number): MachinePlan {
  const { name = '' } = hold.metadata
  const { effect, author, until } = hold.spec
  const waiting = {
    predicate: 'NotHeld',
    seen: `${effect} of ${author} until ${until}; else: ${what}`,
    unblock: `OperationalHold ${name} ends`,
  }
  return { actions: [], notices: [], waiting, requeueAfter: endsIn(hold, now) }
}

function sealActions({ toSeal, toDelete }: SealingPlan, publicKey: string | undefined): MachineAction[] {
  return [
    ...(publicKey === undefined ? [] : toSeal).map((config): MachineAction => ({
      kind: 'Seal',
      config,
      publicKey: publicKey ?? '',
      reason: `the machine receives secret values of ${config.spec.component}`,
    })),
    ...toDelete.map((object): MachineAction => ({
      kind: 'DeleteSealed',
      object,
      reason: 'no configuration uses these values any longer',
    })),
  ]
}

const sealWait = ({ wait }: SealingPlan): Pick<MachinePlan, 'waiting'> =>
  wait === undefined ? {} : { waiting: { predicate: 'ValuesSealed', ...wait } }

/** The join over SSH reports its progress itself. */
function overSshWait({ machine: { spec, status } }: Seen): MachinePlan['waiting'] {
  if (spec.ssh === undefined) return undefined
  if (spec.channel === 'SSH') {
    const { visit } = status ?? {}
    const why =
      visit === undefined ? 'no session over SSH has worked on its host yet' : `${visit.reason}: ${visit.message}`
    return {
      predicate: 'AgentJoined',
      seen: why,
      unblock: 'a session over SSH succeeds; see status.visit',
      because: 'Progressing',
    }
  }
  const { step, attempt, message } = status?.join ?? {}
  const seen = `joining over SSH: ${step === undefined ? 'not started' : `step ${step}, attempt ${attempt ?? 1}`}${message === undefined ? '' : `: ${message}`}`
  return { predicate: 'AgentJoined', seen, unblock: 'the host is joined; see status.join', because: 'Progressing' }
}

/** An existing host joins when a user runs a command there. The token in that command must not appear in a status. */
function joinWait(seen: Seen): Pick<MachinePlan, 'waiting'> {
  if (!seen.isHostKept || hasJoined(seen)) return {}
  const over = overSshWait(seen)
  if (over !== undefined) return { waiting: over }
  const unblock = `a person runs on the host the command that this prints: kubenode machine join-command ${nameOf(seen.machine)}`
  const seenOf = 'the agent of this machine has not joined yet'
  return { waiting: { predicate: 'AgentJoined', seen: seenOf, unblock, because: 'JoinCommandMissing' } }
}

/** A machine may join before its host is recorded. */
function hostActions({ machine: { spec }, host }: Seen): MachineAction[] {
  if (host.kind !== 'Host') return []
  const { providerID, address } = host.host
  if (spec.providerID === providerID && (address === undefined || address === spec.address)) return []
  return [{ kind: 'WriteHost', providerID, address, reason: 'the provider reports a new name or address' }]
}

/** A person lets its host join again, and the approver has not created the token yet. */
const awaitsToken = ({ machine, joinToken }: Seen, now: number): boolean =>
  joinToken === undefined && readmissionOf(machine, now)?.token === true

const onlyThen = (action: MachineAction): MachinePlan => ({ actions: [action], notices: noticeOf(action) })

/** Why to ask the provider for a host. Undefined if there is no need. */
function provisionReason(seen: Seen, now: number): string | undefined {
  const { machine, host, joinToken, isJoinFixed = false } = seen
  if (host.kind === 'NoProvider' || isOverSsh(machine)) return undefined
  const isFound = host.kind === 'Host'
  // It may already have an unrecorded host. Do not create a second one.
  if (machine.spec.providerID === undefined && host.kind === 'Unknown') return undefined
  // A provider of existing hosts may have lost its record of this one, and writes it again.
  const isThere = isFound || seen.isHostKept
  if (hadJoined(seen) && isThere && !isJoinFixed && joinToken !== undefined && !isHandedOver(joinToken))
    return 'a person lets its host join again'
  if (hasJoined(seen)) return undefined
  // Found in the list after a lost reply: it has its join token, and only needs to be recorded.
  if (machine.spec.providerID === undefined)
    return isFound && isJoinFixed
      ? undefined
      : seen.isHostKept
        ? 'the provider has no record of the host'
        : 'the machine has no host'
  if (hadJoined(seen)) return undefined
  if (host.kind === 'Gone')
    return seen.isHostKept ? 'the provider has no record of the host' : 'the host was deleted before it joined'
  if (!isFound && isInDoubt(machine)) return 'it is unknown whether the provider created the host'
  if (isJoinFixed) return undefined
  const isHandedToHost = isTokenValid(seen, now) && joinToken !== undefined && isHandedOver(joinToken)
  return isHandedToHost ? undefined : 'the host does not have a valid join token'
}

const isTokenValid = ({ joinToken }: Seen, now: number): boolean =>
  joinToken !== undefined && tokenExpiresAt(joinToken) > now

/** A second host could not become a Node next to that one. */
const earlierWait = ({ requeueMs, ...why }: NonNullable<Seen['earlierNode']>): MachinePlan => ({
  actions: [],
  notices: [],
  waiting: { predicate: 'NodeExists', ...why },
  requeueAfter: requeueMs,
})

/** If the clock is set forward, a token expires before this timer fires, and its host needs the next one. */
const TOKEN_RECHECK_MS = 60_000
/** The approver creates the token as soon as it sees the Machine, so the first checks are close together. */
const FIRST_TOKEN_CHECK_MS = 250
/** Without an approver, thousands of machines may wait, so each of them reads rarely. */
const LAST_TOKEN_CHECK_MS = 10_000
/** The check interval is a twentieth of the time that the machine has waited. */
const CHECKS_OF_AGE = 20

export const tokenCheckMs = (ageMs: number): number =>
  Math.min(LAST_TOKEN_CHECK_MS, Math.max(FIRST_TOKEN_CHECK_MS, (ageMs || 0) / CHECKS_OF_AGE))

function tokenWait(ageMs: number): MachinePlan {
  const waiting = {
    predicate: 'JoinTokenIssued',
    seen: 'the approver has not issued a join token for this machine',
    unblock: 'role approver runs and has issued the token',
  }
  return { actions: [], notices: [], waiting, requeueAfter: tokenCheckMs(ageMs) }
}

function componentsOf(
  seen: Seen,
  waits: PodWaits | undefined,
): { readonly components: Orders['components']; readonly orders: Orders } {
  const { machine, claims, marks, permits, definitions, pods } = seen
  const { components: current = [] } = machine.spec
  const reports = machine.status?.components ?? []
  const desired = desiredComponents({
    machine: nameOf(machine),
    isClosed: isClosed(seen),
    isPreviewed: machine.spec.adoption === 'Preview',
    current,
    reports,
    claims,
    marks,
    asked: new Set(permits.map((p) => p.metadata.name ?? '')),
  }).map((entry) => withExecutor(entry, definitions))
  const orders = planOrders({
    machine: nameOf(machine),
    machineUid: uidOf(machine),
    components: desired,
    reports,
    claims,
    marks,
    permits,
    definitions,
    isDrained: isDrained(seen, pods, waits),
    letGo: letGoFrom(machine),
    ...defined({ endedFor: seen.endedFor }),
    isHeld: seen.hold !== undefined || isNodeFrozen(machine) || machine.spec.adoption === 'Preview',
    mayAdopt: machine.spec.adoption === 'Adopt',
    agent: agentOf(isBeating(seen.agentHeartbeat)),
  })
  return { components: orders.components, orders }
}

const agentOf = (isAlive: boolean | undefined) => (isAlive === undefined ? 'Unknown' : isAlive ? 'Heard' : 'Silent')

/** Whether the agent or the controller installs it. While its definition cannot be read, the previous answer stays. */
function withExecutor(entry: ComponentOrder, definitions: Seen['definitions']): ComponentOrder {
  const definition = definitions.find(({ spec }) => spec.component === entry.name && spec.version === entry.version)
  if (definition === undefined || isWorkload(definition) === (entry.workload === true)) return entry
  const { workload: _, ...rest } = entry
  return isWorkload(definition) ? { ...rest, workload: true } : rest
}

function componentActions({ machine }: Seen, components: Orders['components'], { given }: Orders): MachineAction[] {
  const changed = changedComponents(machine.spec.components ?? [], components, machine.status?.components ?? [])
  if (changed === undefined) return []
  const names = given.map((o) => `${o.order.name} ${o.order.version}`)
  const reason = names.length > 0 ? `switch ${names.join(', ')}` : 'the desired components of the machine changed'
  return [{ kind: 'WriteComponents', components: changed, given, reason }]
}
