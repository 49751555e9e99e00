// Updates a Lease that was read, or creates a missing one: for leader election and for exclusive installation runs.
import type { CallOptions, KubeClient } from '#kube/client.ts'
import { outcomeOf, type WriteOutcome } from '#kube/outcome.ts'
import { leaseType, type Lease } from './lease.ts'

export const writeLease = (client: KubeClient, lease: Lease, call: CallOptions): Promise<WriteOutcome<Lease>> =>
  outcomeOf(() =>
    lease.metadata.resourceVersion === undefined
      ? client.create(leaseType, lease, call)
      : client.update(leaseType, lease, call),
  )
