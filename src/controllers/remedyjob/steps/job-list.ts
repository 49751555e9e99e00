// The list of a machine's running jobs, which its agent watches.
import { API_GROUP_VERSION } from '#api/kind.ts'
import { type Machine, machine as machineType } from '#api/kinds/machine.ts'
import type { RemedyOperationJob } from '#api/kinds/remedy-operation-job.ts'
import { FIELD_MANAGERS } from '#api/names.ts'
import { nameOf, uidOf } from '#api/schema/object-meta.ts'
import { applyObject } from '#kube/apply.ts'
import type { KubeClient } from '#kube/client.ts'
import type { ActionOutcome } from '#runtime/reconcile-with.ts'
import { phaseOf } from '../seen.ts'

/** Pure. */
export const atWorkIn = (jobs: readonly RemedyOperationJob[]): readonly string[] =>
  jobs
    .filter((j) => phaseOf(j) === 'Running' || phaseOf(j) === 'Verifying')
    .map(nameOf)
    .toSorted()

export function applyList(
  client: KubeClient,
  machine: Machine,
  jobs: readonly string[],
  signal: AbortSignal,
): Promise<ActionOutcome> {
  // With the uid, an apply never recreates a deleted machine.
  const object = {
    apiVersion: API_GROUP_VERSION,
    kind: 'Machine',
    metadata: { name: nameOf(machine), uid: uidOf(machine) },
    spec: { jobs },
  }
  return applyObject(client, machineType, object, { fieldManager: FIELD_MANAGERS.remedyJob, force: true, signal })
}
