// Reads one Node with its Machine, jobs and maintenance from the caches.
import { type Machine, machine as machineType } from '#api/kinds/machine.ts'
import { type MaintenanceEvent, maintenanceEvent } from '#api/kinds/maintenance-event.ts'
import { type RemedyOperationJob, remedyOperationJob } from '#api/kinds/remedy-operation-job.ts'
import { nameOf } from '#api/schema/object-meta.ts'
import { parseVersion } from '#lib/semver.ts'
import { isOver } from '#nodes/faults/maintenance.ts'
import { nodeUidOf } from '#nodes/faults/node-view.ts'
import { type Node, nodeType } from '#nodes/objects.ts'
import type { ServerVersion } from '#nodes/placement/server-version.ts'
import { type Informers, type SharedInformer, requireFresh } from '#runtime/informers.ts'
import type { Seen } from './seen.ts'

/** The first minor version of Kubernetes 1 whose API names these conditions. */
const SINCE_MINOR = 37

export interface LifecycleCaches {
  readonly nodes: SharedInformer<Node>
  readonly machines: SharedInformer<Machine>
  readonly jobs: SharedInformer<RemedyOperationJob>
  readonly events: SharedInformer<MaintenanceEvent>
}

const BY_NODE = 'lifecycle/node'
const JOBS_OF_NODE = 'lifecycle/job'
const EVENTS_OF_MACHINE = 'lifecycle/event'

export const cachesOf = (informers: Informers): LifecycleCaches => ({
  nodes: informers.of(nodeType),
  machines: informers.of(machineType, { indexes: { [BY_NODE]: nodeUidOf } }),
  jobs: informers.of(remedyOperationJob, { indexes: { [JOBS_OF_NODE]: (j) => [j.spec.node.uid] } }),
  events: informers.of(maintenanceEvent, { indexes: { [EVENTS_OF_MACHINE]: (e) => [e.spec.machine] } }),
})

export async function observe(
  caches: LifecycleCaches,
  version: ServerVersion,
  key: string,
  signal: AbortSignal,
): Promise<Seen> {
  const { nodes, machines, jobs, events } = caches
  requireFresh([nodes, machines, jobs, events])
  const node = nodes.get(key)
  const uid = node?.metadata.uid ?? ''
  const [machine] = machines.byIndex(BY_NODE, uid)
  const served = await version.read(signal)
  return {
    node,
    machine,
    jobs: jobs.byIndex(JOBS_OF_NODE, uid).filter((j) => j.status?.phase !== 'Done'),
    events: machine === undefined ? [] : events.byIndex(EVENTS_OF_MACHINE, nameOf(machine)).filter((e) => !isOver(e)),
    isServed: isServedBy(served),
  }
}

/** Undefined while the version is unknown. */
function isServedBy(version: string | undefined): boolean | undefined {
  const [major, minor] =
    (version === undefined ? undefined : parseVersion(version, { suffix: 'vendor' }))?.numbers ?? []
  return major === undefined || minor === undefined ? undefined : major > 1 || minor >= SINCE_MINOR
}
