// The caches behind job decisions, with the indexes to find jobs and machines in them.
import { type Machine, machine as machineType } from '#api/kinds/machine.ts'
import { type MaintenanceEvent, maintenanceEvent } from '#api/kinds/maintenance-event.ts'
import { type NodeRemedier, nodeRemedier } from '#api/kinds/node-remedier.ts'
import { type OperationPermit, operationPermit } from '#api/kinds/operation-permit.ts'
import { type MachineSet, machineSet } from '#api/kinds/machine-set.ts'
import { type OperationalHold, operationalHold } from '#api/kinds/operational-hold.ts'
import { type RemedyOperationJob, remedyOperationJob } from '#api/kinds/remedy-operation-job.ts'
import { SYSTEM_NAMESPACE } from '#api/names.ts'
import { CommittedContents } from '#declared/committed.ts'
import { type Node, nodeType } from '#nodes/objects.ts'
import { type ControllerRevision, controllerRevisionType } from '#nodes/faults/active-rule.ts'
import { nodeUidOf } from '#nodes/faults/node-view.ts'
import type { Informers, SharedInformer } from '#runtime/informers.ts'

export interface JobCaches {
  readonly jobs: SharedInformer<RemedyOperationJob>
  readonly permits: SharedInformer<OperationPermit>
  readonly nodes: SharedInformer<Node>
  readonly machines: SharedInformer<Machine>
  readonly remediers: SharedInformer<NodeRemedier>
  readonly revisions: SharedInformer<ControllerRevision>
  readonly holds: SharedInformer<OperationalHold>
  readonly maintenance: SharedInformer<MaintenanceEvent>
  readonly machineSets: SharedInformer<MachineSet>
  /** The parts of a rule that may be acted upon. */
  readonly contents: Pick<CommittedContents, 'view' | 'caches'>
}

export const BY_NODE = 'remedyjob/node'
export const BY_MACHINE = 'remedyjob/machine'
export const BY_RULE = 'remedyjob/rule'
/** Index of MaintenanceEvents. */
export const BY_HOST_OF = 'remedyjob/host-of'
/** Of machines, by the jobs that they list. */
export const BY_LISTED = 'remedyjob/listed'
export const BY_INCIDENT = 'remedyjob/incident'
export const BY_NODE_UID = 'remedyjob/node-uid'

export const cachesOf = (informers: Informers): JobCaches => ({
  jobs: informers.of(remedyOperationJob, {
    indexes: {
      [BY_NODE]: (j) => [j.spec.node.uid],
      [BY_MACHINE]: (j) => (j.spec.machine === undefined ? [] : [j.spec.machine]),
      [BY_RULE]: (j) => [j.spec.remedierRef.name],
      [BY_INCIDENT]: (j) => [j.spec.incident],
    },
  }),
  permits: informers.of(operationPermit),
  nodes: informers.of(nodeType),
  machines: informers.of(machineType, { indexes: { [BY_NODE_UID]: nodeUidOf, [BY_LISTED]: (m) => m.spec.jobs ?? [] } }),
  remediers: informers.of(nodeRemedier),
  revisions: informers.of(controllerRevisionType, { selection: { namespace: SYSTEM_NAMESPACE } }),
  holds: informers.of(operationalHold),
  maintenance: informers.of(maintenanceEvent, { indexes: { [BY_HOST_OF]: (e) => [e.spec.machine] } }),
  machineSets: informers.of(machineSet),
  contents: CommittedContents.of(informers),
})
