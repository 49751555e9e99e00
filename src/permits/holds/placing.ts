// Creates and deletes holds in the cluster. A second creation has no effect, and only the version that was read is deleted.
import { type OperationalHold, operationalHold } from '#api/kinds/operational-hold.ts'
import { FIELD_MANAGERS } from '#api/names.ts'
import { objectKey } from '#api/schema/object-meta.ts'
import type { KubeClient } from '#kube/client.ts'
import { defined } from '#lib/defined.ts'

export const placeHold = (client: KubeClient, hold: OperationalHold): Promise<OperationalHold> =>
  client.apply(operationalHold, hold, { fieldManager: FIELD_MANAGERS.cli, force: true })

/** Returns their names. */
export async function removeHolds(client: KubeClient, holds: readonly OperationalHold[]): Promise<readonly string[]> {
  for (const hold of holds) {
    const { uid, resourceVersion } = hold.metadata
    const preconditions = defined({ uid, resourceVersion })
    await client.delete(operationalHold, objectKey(hold), { preconditions })
  }
  return holds.map((h) => h.metadata.name ?? '')
}
