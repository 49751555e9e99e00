// The attention model's input from a cluster: objects from caches or from one read, with Machines and Nodes reduced to the judged fields. Pure.
import type { Cluster } from '#api/kinds/cluster.ts'
import type { ComponentCanary } from '#api/kinds/component-canary.ts'
import type { DefenderLedger } from '#api/kinds/defender-ledger.ts'
import type { DefenderPolicy } from '#api/kinds/defender-policy.ts'
import type { FleetBrake } from '#api/kinds/fleet-brake.ts'
import type { FleetSource } from '#api/kinds/fleet-source.ts'
import type { Machine } from '#api/kinds/machine.ts'
import type { MachineComponentSet } from '#api/kinds/machine-component-set.ts'
import type { MachineSet } from '#api/kinds/machine-set.ts'
import type { MaintenanceEvent } from '#api/kinds/maintenance-event.ts'
import type { NodeRemedier } from '#api/kinds/node-remedier.ts'
import type { OperationPermit } from '#api/kinds/operation-permit.ts'
import type { OperationalHold } from '#api/kinds/operational-hold.ts'
import type { Release } from '#api/kinds/release.ts'
import type { RemedyOperationJob } from '#api/kinds/remedy-operation-job.ts'
import { isOfLifecycle } from '#api/node-conditions.ts'
import { findCondition } from '#kube/conditions.ts'
import { repairCordonsOn } from '#nodes/faults/acceptance.ts'
import type { Node } from '#nodes/objects.ts'
import type { KubeObject } from '#api/schema/object.ts'
import type { StoppedProgram } from '../programs.ts'
import { defined } from '#lib/defined.ts'

/** The judged fields of a Machine. */
export interface ObservedMachine {
  readonly metadata: { readonly name?: string }
  /** Name of its Node; empty when it equals the Machine's name, or when there is no Node yet. */
  readonly node: string
  /** When Ready got its current status, in seconds since 1970; 0 when unknown. */
  readonly since: number
  readonly state: MachineCondition
}

export interface MachineCondition {
  readonly phase: string
  /** Reason of Ready while it is not True. */
  readonly reason: string
  readonly silent: 'Yes' | 'No' | 'Unknown'
  /** A file on its host forbids every disruption. */
  readonly isFrozen: boolean
}

/** A Node condition other than Ready that is True, because a detector found a problem. Or Ready itself, if it is not True. */
export interface NodeProblem {
  readonly type: string
  readonly reason: string
  readonly message: string
  readonly since: string
}

export interface ObservedNode extends KubeObject {
  readonly problems: readonly NodeProblem[]
  /** Cordoned by a user: KubeNode cordons with its own taint. */
  readonly isCordoned: boolean
  /** Owners of KubeNode's taint that are repairs. Absent on most Nodes. */
  readonly repairCordons?: readonly string[]
}

export interface ObservedKinds {
  readonly machines: ObservedMachine
  readonly nodes: ObservedNode
  readonly machineSets: MachineSet
  readonly sets: MachineComponentSet
  readonly canaries: ComponentCanary
  readonly permits: OperationPermit
  readonly policies: DefenderPolicy
  readonly ledgers: DefenderLedger
  readonly brakes: FleetBrake
  readonly holds: OperationalHold
  readonly jobs: RemedyOperationJob
  readonly rules: NodeRemedier
  readonly events: MaintenanceEvent
  readonly sources: FleetSource
  readonly releases: Release
  readonly clusters: Cluster
}

/** What was read of a cluster's agents. A fleet is read cluster by cluster, and one that hangs delays the answer: only `readAt` shows who was late. */
export interface ReadHeartbeats {
  readonly renewed: ReadonlyMap<string, number>
  readonly readAt: number
}

export interface ObservedCluster {
  readonly name: string
  readonly state: 'Loading' | 'Connected' | 'Unreachable' | 'Refused'
  /** Why it does not answer. */
  readonly message?: string | undefined
  /** Empty for a kind that was not read; `gap` then explains it. */
  readonly list: <K extends keyof ObservedKinds>(kind: K) => readonly ObservedKinds[K][]
  readonly stopped: readonly StoppedProgram[]
  /** The unknown part of a cluster that answers; undefined if everything is known. */
  readonly gap: string | undefined
  /** When each machine's agent last renewed its Lease. Absent where Leases are not read: the controllers report a silent agent soon after. */
  readonly heartbeats?: ReadHeartbeats | undefined
}

const SILENT = { True: 'No', False: 'Yes', Unknown: 'Unknown' } as const

export function machineCondition({ status }: Machine): MachineCondition {
  const { conditions, phase = 'Pending' } = status ?? {}
  const ready = findCondition(conditions, 'Ready')
  return {
    phase,
    silent: SILENT[findCondition(conditions, 'AgentReachable')?.status ?? 'Unknown'],
    reason: ready === undefined || ready.status === 'True' ? '' : ready.reason,
    isFrozen: findCondition(conditions, 'Frozen')?.status === 'True',
  }
}

export function observedMachine(machine: Machine): ObservedMachine {
  const { name } = machine.metadata
  const node = machine.status?.nodeRef?.name ?? ''
  const since = Date.parse(findCondition(machine.status?.conditions, 'Ready')?.lastTransitionTime ?? '')
  return {
    metadata: defined({ name }),
    node: node === name ? '' : node,
    since: Number.isNaN(since) ? 0 : Math.floor(since / 1_000),
    state: machineCondition(machine),
  }
}

const NO_PROBLEMS: readonly NodeProblem[] = []

export const isProblem = ({ type, status }: { readonly type: string; readonly status: string }): boolean =>
  type === 'Ready' ? status !== 'True' : status === 'True' && !isOfLifecycle(type)

/** Small enough to keep ten thousand of them. */
export function observedNode(node: Node): ObservedNode {
  const { name, uid, resourceVersion } = node.metadata
  const repairs = repairCordonsOn(node)
  const bad = (node.status?.conditions ?? []).filter(isProblem)
  return {
    apiVersion: 'v1',
    kind: 'Node',
    metadata: defined({ name, uid, resourceVersion }),
    problems:
      bad.length === 0
        ? NO_PROBLEMS
        : bad.map(({ type, reason, message, lastTransitionTime }) => ({
            type,
            reason,
            message,
            since: lastTransitionTime,
          })),
    isCordoned: node.spec?.unschedulable === true,
    ...(repairs.length > 0 && { repairCordons: repairs }),
  }
}

export const nodeNameOf = ({ node, metadata }: Pick<ObservedMachine, 'node' | 'metadata'>): string =>
  node === '' ? (metadata.name ?? '') : node
