// The recorded owner of a machine, and the machines as the server has them now.
import { listAll } from '#kube/list-all.ts'
import { API_GROUP_VERSION } from '#api/kind.ts'
import { type MachineSet, machineSet } from '#api/kinds/machine-set.ts'
import { type Machine, machine as machineType } from '#api/kinds/machine.ts'
import { nameOf, uidOf } from '#api/schema/object-meta.ts'
import type { KubeClient } from '#kube/client.ts'
import { defined } from '#lib/defined.ts'

export const ownerReference = (set: MachineSet) => ({
  apiVersion: API_GROUP_VERSION,
  kind: machineSet.kind,
  name: nameOf(set),
  uid: uidOf(set),
  controller: true,
  blockOwnerDeletion: true,
})

export const owned = (m: Machine, set: MachineSet): Machine => ({
  ...m,
  metadata: { ...m.metadata, ownerReferences: [...(m.metadata.ownerReferences ?? []), ownerReference(set)] },
})

export const released = (m: Machine, set: MachineSet): Machine => ({
  ...m,
  metadata: { ...m.metadata, ownerReferences: (m.metadata.ownerReferences ?? []).filter((o) => o.uid !== uidOf(set)) },
})

/** As the server has them now. */
export const allMachines = (
  client: KubeClient,
  signal: AbortSignal,
  labelSelector?: string,
): Promise<readonly Machine[]> => listAll(client, machineType, { signal, ...defined({ labelSelector }) })
