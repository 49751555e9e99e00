// The inputs of the job controller: the job, its permit, its node and whether the fault is present, its machine, holds, and its memory of waits.
import type { Reason } from '#api/catalogue.ts'
import type { MachineSet } from '#api/kinds/machine-set.ts'
import type { Machine } from '#api/kinds/machine.ts'
import type { NodeRemedier } from '#api/kinds/node-remedier.ts'
import type { OperationPermit } from '#api/kinds/operation-permit.ts'
import type { OperationalHold } from '#api/kinds/operational-hold.ts'
import type { RemedyOperationJob } from '#api/kinds/remedy-operation-job.ts'
import { nameOf, uidOf } from '#api/schema/object-meta.ts'
import { findCondition } from '#kube/conditions.ts'
import { isNodeFrozen } from '#permits/holds/in-force.ts'
import type { Node, Pod } from '#nodes/objects.ts'
import { repairCordon } from '#nodes/faults/acceptance.ts'
import type { Standing } from '#nodes/faults/node-view.ts'

const REBOOTING: Reason = 'Rebooting'

export type JobStatus = NonNullable<RemedyOperationJob['status']>
export type JobStep = NonNullable<JobStatus['steps']>[number]

/** The rule's result for the node right now. `Gone`: the rule no longer exists. */
export type FaultReading =
  | { readonly kind: 'Present' }
  | { readonly kind: 'Absent'; readonly since: number | undefined }
  | { readonly kind: 'Unknown'; readonly why: string }
  | { readonly kind: 'Gone' }

export interface Seen {
  readonly job: RemedyOperationJob
  readonly permit: OperationPermit | undefined
  readonly node: Node | undefined
  readonly machine: Machine | undefined
  readonly standing: Standing
  /** From the rule itself: is there still something to repair? */
  readonly fault: FaultReading
  /** From what the rung verifies: is it repaired? */
  readonly cleared: FaultReading
  readonly remedier: NodeRemedier | undefined
  /** Why the rule would not request this repair any more: it was edited since. */
  readonly outdated?: string
  readonly holds: readonly OperationalHold[]
  /** The text about maintenance of the host, while that explains the node's state. */
  readonly maintained?: string
  /** By name: a hold may select the MachineSet of a machine. */
  readonly machineSets?: { get(name: string): MachineSet | undefined }
  /** Other jobs of the same machine or incident. */
  readonly others: readonly RemedyOperationJob[]
  /** Observed by this process long enough that a mass fault would have shown. */
  readonly isRipe: boolean
  /** Some other nodes as the server has them now, read right before a start: how many are equally bad or silent. */
  readonly asked: { readonly bad: number; readonly total: number }
  /** Attempts that this process recorded and has not done yet, as `index/attempts`. */
  readonly begun: ReadonlySet<string>
  /** Whether job, permit and node, and the machine if it matters, were read from the server for this decision. */
  readonly isFresh: boolean
  /** Whether the node has pods that must move. Undefined if not read. */
  readonly hasPods: boolean | undefined
  /** The pods of the node; read for the text of a dry run that drains. */
  readonly pods?: readonly Pod[]
  /** Whether a repair of the incident may have isolated devices that this process has not freed. */
  readonly mayHoldDevices: boolean
}

export const phaseOf = (job: RemedyOperationJob) => job.status?.phase ?? 'Pending'

/** The permit's target: the Machine, or the Node if there is none. */
export const targetOf = ({
  machine,
  job,
}: Pick<Seen, 'machine' | 'job'>):
  | { readonly kind: 'Machine' | 'Node'; readonly name: string; readonly uid: string }
  | undefined => {
  if (job.spec.machine === undefined) return { kind: 'Node', name: job.spec.node.name, uid: job.spec.node.uid }
  return machine === undefined ? undefined : { kind: 'Machine', name: nameOf(machine), uid: uidOf(machine) }
}

/** Neither its kubelet nor its agent sends heartbeats. */
export const isSilent = ({ machine, standing }: Pick<Seen, 'machine' | 'standing'>): boolean =>
  standing.kind === 'Silent' && isAgentSilent({ machine })

/** Unknown is not silent. */
const isAgentSilent = ({ machine }: Pick<Seen, 'machine'>): boolean =>
  findCondition(machine?.status?.conditions, 'AgentReachable')?.status === 'False'

/** A reboot for a component is expected silence: a second one would interrupt it, and the node would return with the old version. */
export const needsRescue = ({ machine }: Pick<Seen, 'machine'>): boolean => {
  const reachable = findCondition(machine?.status?.conditions, 'AgentReachable')
  return reachable?.status === 'False' && reachable.reason !== REBOOTING
}

/** The file that forbids every disruption is on the node. It still counts while the agent that reported it is silent. */
export const isFrozen = ({ machine }: Pick<Seen, 'machine'>): boolean => isNodeFrozen(machine)

/** The next operation. Undefined if all have succeeded. */
export function nextOperation({ status, spec }: RemedyOperationJob): number | undefined {
  const index = spec.operations.findIndex((_, n) => !endedWell(status?.steps?.find((s) => s.index === n)))
  return index < 0 ? undefined : index
}

const endedWell = (step: JobStep | undefined): boolean => step?.outcome === 'Succeeded' || step?.outcome === 'Skipped'

export const cordonOwner = (job: RemedyOperationJob): string => repairCordon(job.spec.incident)
