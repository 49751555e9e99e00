// What a second of a node counts as: good, planned, fault, silent or pending. The one definition behind service levels, reports and the page.
import type { Machine } from '#api/kinds/machine.ts'
import type { MaintenanceEvent } from '#api/kinds/maintenance-event.ts'
import type { OperationPermit } from '#api/kinds/operation-permit.ts'
import { findCondition } from '#kube/conditions.ts'
import { repairCordonsOn } from '#nodes/faults/acceptance.ts'
import { standsOff } from '#nodes/faults/maintenance.ts'
import type { Node } from '#nodes/objects.ts'

/**
 * good: serves as declared. planned: does not, and a granted change or announced work is why. fault: does not, unplanned. silent: no
 * heartbeat from its agent. pending: not in service yet, or leaving.
 */
export const NODE_STATES = ['good', 'planned', 'fault', 'silent', 'pending'] as const
export type NodeState = (typeof NODE_STATES)[number]

/** Conditions with which pods on the node do not work. Others, such as a certificate that expires in a week, are trouble to come. */
const FATAL: ReadonlySet<string> = new Set([
  'KernelDeadlock',
  'ReadonlyFilesystem',
  'FilesystemReadOnly',
  'TasksHung',
  'KubeletUnhealthy',
  'ContainerRuntimeUnhealthy',
  'NetworkUnavailable',
  'DiskPressure',
  'MemoryPressure',
  'PIDPressure',
])

export interface NodeFacts {
  readonly machine: Machine
  readonly node: Node | undefined
  /** A granted permit that is no repair, or work on the host that was announced. */
  readonly isPlanned: boolean
}

export function nodeState({ machine, node, isPlanned }: NodeFacts): NodeState {
  const { status, metadata } = machine
  if (status?.inServiceSince === undefined || metadata.deletionTimestamp !== undefined) return 'pending'
  const isSilent = (findCondition(status.conditions, 'AgentReachable')?.status ?? 'True') !== 'True'
  if (!isSilent && isGood(machine, node)) return 'good'
  if (isPlanned) return 'planned'
  return isSilent ? 'silent' : 'fault'
}

function isGood({ status }: Machine, node: Node | undefined): boolean {
  const isReady = findCondition(status?.conditions, 'NodeReady')?.status === 'True'
  const isWhole = (status?.components ?? []).every((c) => c.state === 'Healthy' || isRunning(c))
  return isReady && isWhole && !hasFatal(node) && !isCordonedForRepair(node)
}

/** What is downloaded beside the running version disturbs nothing. */
const isRunning = ({ state, version }: { readonly state: string; readonly version?: string }): boolean =>
  version !== undefined && (state === 'Fetching' || state === 'Staged')

const hasFatal = (node: Node | undefined): boolean =>
  node?.status?.conditions?.some((c) => FATAL.has(c.type) && c.status === 'True') === true

const isCordonedForRepair = (node: Node | undefined): boolean => node !== undefined && repairCordonsOn(node).length > 0

/** A repair has a permit too, but its cause is a fault: a long one must not look like a plan. */
const isRepair = ({ spec }: OperationPermit): boolean => spec.requester.kind === 'RemedyOperationJob'

/** UIDs of Machines and Nodes that a granted change may disrupt now. */
export function plannedTargets(permits: readonly OperationPermit[]): ReadonlySet<string> {
  const found = new Set<string>()
  for (const permit of permits) {
    if (permit.status?.phase !== 'Granted' || isRepair(permit)) continue
    const done = permit.spec.results ?? {}
    for (const { uid } of permit.spec.targets) if (!Object.hasOwn(done, uid)) found.add(uid)
  }
  return found
}

/** Names of Machines whose hosts have announced work in progress. */
export const plannedMachines = (events: readonly MaintenanceEvent[]): ReadonlySet<string> =>
  new Set(events.flatMap((e) => (standsOff(e) && !e.spec.unplanned ? [e.spec.machine] : [])))
