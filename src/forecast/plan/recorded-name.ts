// The fleet's name for a cluster, under which sync recorded its objects there.
import { inventory } from '#api/kinds/inventory.ts'
import { HUB_TARGET } from '#api/names.ts'
import type { KubeClient } from '#kube/client.ts'
import { listAll } from '#kube/list-all.ts'
import { KubeNodeError } from '#lib/errors.ts'
import { planErrors } from './plan-errors.ts'

/** Sync records in each cluster what it applied, under the fleet's name for it. */
export async function recordedName(client: KubeClient): Promise<string> {
  const shards = await listAll(client, inventory)
  const names = [...new Set(shards.flatMap((i) => i.spec.cluster ?? []))].filter((name) => name !== HUB_TARGET)
  // A hub that is not a member of its fleet.
  if (names.length === 0 && shards.some((i) => i.spec.target === 'Hub')) return HUB_TARGET
  const [name] = names
  if (name === undefined || names.length > 1)
    throw new KubeNodeError(planErrors.KN1002_whichCluster({ seen: names.length === 0 ? 'none' : names.join(', ') }))
  return name
}
