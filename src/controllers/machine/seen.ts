// The inputs of one reconcile of a Machine, and the predicates of its plan. Pure.
import { type Reason, isReason } from '#api/catalogue.ts'
import type { MachineComponent } from '#api/kinds/machine-component.ts'
import type { ComponentStatus, Machine } from '#api/kinds/machine.ts'
import type { OperationPermit } from '#api/kinds/operation-permit.ts'
import type { OperationalHold } from '#api/kinds/operational-hold.ts'
import { FINALIZERS, TAINTS } from '#api/names.ts'
import { hasOpenSwitch, openSwitches } from '#api/protocol/component-order.ts'
import { RETURNS_WITHIN_MS, rebooting } from '#api/protocol/rebooting.ts'
import { isBeingDeleted } from '#api/schema/object-meta.ts'
import type { AcceptancePodSeen } from '#nodes/acceptance-pod.ts'
import { type Node, type Pod, type Secret, hasTaint, isNodeReady } from '#nodes/objects.ts'
import { isObserved } from '#nodes/machine-node.ts'
import type { EndedFor } from '#permits/ended-for.ts'
import type { Host } from '#providers/port.ts'
import { recordedKey } from '#identity/agent-key.ts'
import type { ExhaustedUntil } from './provisioning/exhausted-offerings.ts'
import { type Claim, type Mark, isReportOf } from './components/desired.ts'
import { type Heartbeat, LOST_AFTER_MS, isBeating } from './heartbeats/heartbeats.ts'
import type { Lease } from '#runtime/lease.ts'
import type { Peers } from './reboots/peers.ts'
import type { ConfigMap } from './secrets/config-map.ts'
import type { SealingSeen } from './secrets/sealing.ts'
import type { WorkloadSeen } from './workloads/state.ts'

/** The provider's answer about the host. */
export type HostSeen =
  | { readonly kind: 'Host'; readonly host: Host }
  | { readonly kind: 'Gone' }
  /** The provider could not be asked. Nothing is concluded. */
  | { readonly kind: 'Unknown'; readonly why: string }
  /** There was no need to ask. */
  | { readonly kind: 'NotAsked' }
  /** No provider with this name is configured here. */
  | { readonly kind: 'NoProvider' }

export interface Seen {
  readonly machine: Machine
  readonly node: Node | undefined
  readonly agentHeartbeat: Heartbeat
  /** renewTime of the agent's Lease. */
  readonly agentRenewal?: string
  readonly nodeHeartbeat: Heartbeat
  /** Read only while the machine reboots for a component and is silent. */
  readonly peers?: Peers
  /** The Lease of an earlier Machine's agent with this name. */
  readonly leftoverLease?: Lease
  /** A Node with this name from an earlier Machine whose agent no longer runs. In that case `node` is undefined. */
  readonly leftoverNode?: Node
  /** Why a Node with this name stays with an earlier Machine, which may still have its host. In that case `node` is undefined. */
  readonly earlierNode?: { readonly seen: string; readonly unblock: string; readonly requeueMs: number }
  readonly host: HostSeen
  /** The host existed before its Machine, and stays after it. */
  readonly isHostKept: boolean
  /** A new host gets its join text at creation, and never another one. */
  readonly isJoinFixed?: boolean
  /** For each of the machine's offerings: how long its provider is out of capacity. Absent while no host is needed. */
  readonly exhausted?: readonly (ExhaustedUntil | undefined)[]
  /** While it is in force, nothing new starts. */
  readonly hold: OperationalHold | undefined
  /** The token for its host. Undefined if no host may join, or the approver has not created one yet. */
  readonly joinToken: Secret | undefined
  readonly claims: readonly Claim[]
  readonly marks: readonly Mark[]
  readonly permits: readonly OperationPermit[]
  /** How long refused permits have been refused. */
  /** How long the permits of its open orders have not been in force, by name. */
  readonly endedFor?: ReadonlyMap<string, number>
  readonly refusedFor: EndedFor
  readonly definitions: readonly MachineComponent[]
  /** The pods on the node. Undefined if not read. */
  readonly pods: readonly Pod[] | undefined
  /** For components with a rollout in progress. Empty if not read. */
  readonly workloads: readonly WorkloadSeen[]
  /** Configurations with secret values. Most machines have none. */
  readonly sealing?: readonly SealingSeen[]
  /** Only while the machine is accepted by a pod. */
  readonly acceptancePod?: AcceptancePodSeen
  /** Sealed values of deleted configurations. */
  readonly idleSealed?: readonly ConfigMap[]
}

export const hasFinalizer = ({ metadata }: Machine): boolean =>
  metadata.finalizers?.includes(FINALIZERS.machine) === true

/** A machine that KubeNode creates or takes over, and joins. Other machines are only observed, or managed in other ways. */
export const isProvided = ({ spec }: Machine): boolean =>
  spec.provider !== undefined && (spec.channel === 'Agent' || isOverSsh({ spec }))

/** The controllers do on its host what an agent would do. Only hosts that exist are worked on like that. */
export const isOverSsh = ({ spec }: Pick<Machine, 'spec'>): boolean =>
  spec.channel === 'SSH' && spec.provider?.name === 'static'

/** The agent was there, as its Lease or its Node shows. The Node of an existing host proves nothing. */
export const hasJoined = ({
  node,
  agentHeartbeat,
  isHostKept,
}: Pick<Seen, 'node' | 'agentHeartbeat' | 'isHostKept'>): boolean =>
  agentHeartbeat.kind !== 'None' || (node !== undefined && !isHostKept)

/** It joined at some time, whatever is left of it now. */
export const hadJoined = ({ machine: { status }, isHostKept }: Pick<Seen, 'machine' | 'isHostKept'>): boolean =>
  (isHostKept ? status?.agent : status?.nodeRef) !== undefined

/**
 * No agent was ever on its host: none reported, none sent a heartbeat, and the approver has recorded no key. The key is recorded before a certificate
 * is issued, and a deleted or observed Machine never gets a first certificate. So nothing of KubeNode runs on the host, and nothing can start there.
 */
export const neverHadAgent = ({ machine, agentHeartbeat }: Pick<Seen, 'machine' | 'agentHeartbeat'>): boolean =>
  machine.status?.agent === undefined && agentHeartbeat.kind === 'None' && recordedKey(machine) === undefined

/** The Node was deleted while its agent runs. The agent creates it again, or the kubelet registers it after a restart. */
export const isNodeDeleted = (seen: Pick<Seen, 'machine' | 'node' | 'agentHeartbeat' | 'isHostKept'>): boolean =>
  seen.node === undefined &&
  seen.machine.status?.nodeRef !== undefined &&
  hasJoined(seen) &&
  !isBeingDeleted(seen.machine)

/**
 * Its Node has the startup taint, or does not exist yet, so nothing runs there that could be disrupted. A deleted Node registers with that taint
 * again.
 */
export const isClosed = ({ machine, node }: Pick<Seen, 'machine' | 'node'>): boolean =>
  node === undefined ? machine.status?.nodeRef === undefined : hasTaint(node, TAINTS.componentsPending)

/** It has not served yet. A machine that served once never counts as a first installation again. */
export const isFirstInstall = (seen: Pick<Seen, 'machine' | 'node'>): boolean =>
  seen.machine.status?.inServiceSince === undefined && isClosed(seen)

/** Workloads rely on it, or did: it became a node, and its startup taint was removed once. */
export const isInService = ({ machine, node }: Pick<Seen, 'machine' | 'node'>): boolean =>
  !isFirstInstall({ machine, node }) && node !== undefined

/** It serves, or it served and its Node was deleted. Its pods may still run, so it leaves like any other, unless nothing of it reports. */
export const mayServe = (seen: Silence & Pick<Seen, 'definitions' | 'isHostKept'>): boolean =>
  isInService(seen) || (seen.node === undefined && seen.machine.status?.inServiceSince !== undefined && !isLost(seen))

export interface ComponentProblem {
  readonly name: string
  readonly what: string
  /** From the catalogue. */
  readonly reason: Reason
}

type ComponentList = NonNullable<Machine['spec']['components']>

/** Components that keep the startup taint: those that are not installed as ordered. */
export function missingComponents(machine: Machine, components: ComponentList): readonly ComponentProblem[] {
  return components.flatMap((entry) => {
    const report = machine.status?.components?.find((c) => c.name === entry.name)
    if (report !== undefined && isReportOf(report, entry) && report.state === 'Healthy') return []
    return [problemOf(entry.name, report)]
  })
}

/** Of a component whose installation is not blocked. */
const ON_ITS_WAY: ReadonlySet<string> = new Set(['Progressing', 'NotYetObserved'])

/** Of the missing components of a first installation, one that reports why it is not installed. */
export const stuckIn = (missing: readonly ComponentProblem[]): ComponentProblem | undefined =>
  missing.find((c) => !ON_ITS_WAY.has(c.reason))

/** States in which the previously committed version keeps running. */
const UNDISTURBED: ReadonlySet<string> = new Set(['Healthy', 'Fetching', 'Staged', 'RolledBack'])

/**
 * Components that keep the startup taint of a machine that served before. It takes pods again as soon as each component runs in some version, as
 * before its Node was deleted. A workload's pods were deleted with the Node, so a workload needs a Ready pod.
 */
export function stoppedComponents(machine: Machine, components: ComponentList): readonly ComponentProblem[] {
  const workloads = components.filter((c) => c.workload === true)
  const others = components.filter((c) => c.workload !== true)
  return [
    ...missingComponents(machine, workloads),
    ...brokenComponents({ ...machine, spec: { ...machine.spec, components: others } }),
  ]
}

/** Components that do not work right now. A component that only waits for its next version works. */
function brokenComponents({ spec, status }: Machine): readonly ComponentProblem[] {
  return (spec.components ?? []).flatMap(({ name }) => {
    const report = status?.components?.find((c) => c.name === name)
    const works = report?.version !== undefined && UNDISTURBED.has(report.state)
    return works ? [] : [problemOf(name, report)]
  })
}

/** States in which nothing of a never-used version has been started. */
const NOT_BEGUN: ReadonlySet<string> = new Set(['Fetching', 'Staged'])

/**
 * What disrupts a machine in service. A component that was added and is still being fetched was never relied on: its set waits for it, and the
 * machine serves as before.
 */
export const disturbedComponents = (machine: Machine): readonly ComponentProblem[] =>
  brokenComponents(machine).filter(({ name }) => {
    const report = machine.status?.components?.find((c) => c.name === name)
    return report === undefined || report.version !== undefined || !NOT_BEGUN.has(report.state)
  })

function problemOf(name: string, report: ComponentStatus | undefined): ComponentProblem {
  if (report === undefined) return { name, what: 'not reported yet', reason: 'NotYetObserved' }
  const { state, message, reason } = report
  const what = message === undefined ? state : `${state}: ${message}`
  if (isReason(reason)) return { name, what, reason }
  return { name, what, reason: state === 'Degraded' || state === 'Failed' ? 'ProbeFailed' : 'Progressing' }
}

export const isUpdating = ({ spec, status }: Machine): boolean =>
  hasOpenSwitch({ spec, status }) ||
  (status?.components ?? []).some((c) => c.state === 'Switching' || c.state === 'Probing')

const orderOf = (machine: Machine, disruption: string, definitions: readonly MachineComponent[]) =>
  openSwitches(machine).find((c) =>
    definitions.some(
      (d) => d.spec.component === c.name && d.spec.version === c.version && d.spec.disruption === disruption,
    ),
  )

/** Its provider can restart the host. Existing hosts have no such provider. */
export const hasPowerSwitch = ({ machine: { spec }, isHostKept }: Pick<Seen, 'machine' | 'isHostKept'>): boolean =>
  spec.provider !== undefined && spec.providerID !== undefined && !isHostKept

/**
 * A machine ordered to reboot is silent until it is up again, and once more if its provider restarts it. Its last report counts even after the order
 * was withdrawn.
 */
export function lostAfterMs(seen: Pick<Seen, 'machine' | 'definitions' | 'isHostKept'>): number {
  const { machine, definitions } = seen
  if (rebooting(machine) !== undefined && hasPowerSwitch(seen)) return 2 * RETURNS_WITHIN_MS
  const isDue = rebooting(machine) !== undefined || orderOf(machine, 'Reboot', definitions) !== undefined
  return isDue ? RETURNS_WITHIN_MS : LOST_AFTER_MS
}

/** Agent and node are both silent. If only one is, only that one is faulty. An observed machine has no agent. */
export const isLost = (seen: Silence & Pick<Seen, 'definitions' | 'isHostKept'>): boolean =>
  isSilentFor(seen, lostAfterMs(seen))

type Silence = Pick<Seen, 'machine' | 'node' | 'agentHeartbeat' | 'nodeHeartbeat'>

export function isSilentFor({ machine, node, agentHeartbeat, nodeHeartbeat }: Silence, bound: number): boolean {
  if (machine.status?.nodeRef === undefined) return false
  const isNodeSilent =
    isBeating(nodeHeartbeat, bound) === false || (nodeHeartbeat.kind === 'None' && !isNodeReady(node))
  if (isObserved(machine)) return node === undefined || (isNodeSilent && !isNodeReady(node))
  return isBeating(agentHeartbeat, bound) === false && isNodeSilent
}
