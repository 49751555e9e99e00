// Records an agent's key on its Machine. Writes only the version that the decision is based on, so the first of two writers wins.
import { API_GROUP_VERSION } from '#api/kind.ts'
import { type Machine, machine as machineType } from '#api/kinds/machine.ts'
import { ANNOTATIONS, FIELD_MANAGERS } from '#api/names.ts'
import type { KubeClient } from '#kube/client.ts'
import { outcomeOf, type WriteOutcome } from '#kube/outcome.ts'
import type { KubeObject } from '#api/schema/object.ts'

export function writeKeyRecord(
  client: KubeClient,
  machine: Machine,
  record: string,
  signal: AbortSignal,
): Promise<WriteOutcome<Machine>> {
  const { name, uid, resourceVersion } = machine.metadata
  const object: KubeObject = {
    apiVersion: API_GROUP_VERSION,
    kind: machineType.kind,
    metadata: {
      ...(name && { name }),
      ...(uid && { uid }),
      ...(resourceVersion && { resourceVersion }),
      annotations: { [ANNOTATIONS.agentKey]: record },
    },
  }
  const options = { fieldManager: FIELD_MANAGERS.approver, force: true, signal }
  return outcomeOf(() => client.apply(machineType, object as Machine, options))
}
