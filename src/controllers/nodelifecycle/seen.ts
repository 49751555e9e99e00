// The inputs of the node lifecycle controller: one Node, and the KubeNode objects that take it out of service.
import type { Machine } from '#api/kinds/machine.ts'
import type { MaintenanceEvent } from '#api/kinds/maintenance-event.ts'
import type { RemedyOperationJob } from '#api/kinds/remedy-operation-job.ts'
import type { Node } from '#nodes/objects.ts'

export interface Seen {
  /** Undefined: deleted. */
  readonly node: Node | undefined
  readonly machine: Machine | undefined
  /** Jobs of this Node that are not done. */
  readonly jobs: readonly RemedyOperationJob[]
  /** Events of its Machine that are not over. */
  readonly events: readonly MaintenanceEvent[]
  /** Whether the server's version has these conditions; undefined while it is unknown. */
  readonly isServed: boolean | undefined
}
