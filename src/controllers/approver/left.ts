// Records that an agent left its host: its key stays on record, and it gets no tokens any more.
import { API_GROUP_VERSION } from '#api/kind.ts'
import { type Machine, machine as machineType } from '#api/kinds/machine.ts'
import { ANNOTATIONS, FIELD_MANAGERS } from '#api/names.ts'
import { recordOfLeft } from '#identity/agent-key.ts'
import type { KubeClient } from '#kube/client.ts'
import type { KubeObject } from '#schema/object.ts'
import { outcomeOf } from '#kube/outcome.ts'

/** Over the very version that was decided about: an agent that joined meanwhile keeps its record. */
export async function recordLeft(client: KubeClient, machine: Machine, signal: AbortSignal): Promise<void> {
  const { name, uid, resourceVersion } = machine.metadata
  const object: KubeObject = {
    apiVersion: API_GROUP_VERSION,
    kind: machineType.kind,
    metadata: {
      ...(name && { name }),
      ...(uid && { uid }),
      ...(resourceVersion && { resourceVersion }),
      annotations: { [ANNOTATIONS.agentKey]: recordOfLeft(machine) },
    },
  }
  const options = { fieldManager: FIELD_MANAGERS.approver, force: true, signal }
  const written = await outcomeOf(() => client.apply(machineType, object as Machine, options))
  if (written.kind !== 'Applied' && written.kind !== 'Stale') throw written.error
}
