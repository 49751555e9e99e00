// Takes a job that no longer exists off the list of its machine. A user deleted it together with its finalizer, so that it could not do so itself. Its
// machine would count as being repaired for good, and what serves there could be disrupted at no cost.
import { remedyOperationJob } from '#api/kinds/remedy-operation-job.ts'
import { nameOf } from '#api/schema/object-meta.ts'
import type { KubeClient } from '#kube/client.ts'
import type { ActionOutcome } from '#runtime/reconcile-with.ts'
import { BY_LISTED, BY_MACHINE, type JobCaches } from '../inputs/caches.ts'
import { applyList, atWorkIn } from './job-list.ts'

/** Undefined: no machine lists it, or it exists and the cache is behind. */
export async function unlistGone(
  client: KubeClient,
  caches: Pick<JobCaches, 'jobs' | 'machines'>,
  name: string,
  signal: AbortSignal,
): Promise<ActionOutcome | undefined> {
  const [machine] = caches.machines.byIndex(BY_LISTED, name)
  if (machine === undefined || (await client.get(remedyOperationJob, { name }, { signal })) !== undefined)
    return undefined
  return applyList(client, machine, atWorkIn(caches.jobs.byIndex(BY_MACHINE, nameOf(machine))), signal)
}
