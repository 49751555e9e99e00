// Delivers what the hub declares for a Cluster to its API server, with an Inventory there, so that what is no longer declared is removed. Decides nothing.
import type { Cluster } from '#api/kinds/cluster.ts'
import { inventory } from '#api/kinds/inventory.ts'
import { ANNOTATIONS, CLUSTERS_NAMESPACE } from '#api/names.ts'
import { connectTo } from '#delivery/connection.ts'
import { deliver } from '#delivery/deliver.ts'
import type { DesiredObject } from '#delivery/desired.ts'
import { shardName } from '#delivery/inventory.ts'
import { refText } from '#delivery/object-ref.ts'
import { NEVER_PRUNED } from '#delivery/release-plan.ts'
import type { InventoryOwner } from '#delivery/targets.ts'
import type { KubeClient } from '#kube/client.ts'
import { isNotFound } from '#kube/errors.ts'
import { type Clock, timestamp } from '#lib/clock.ts'
import { printableLine } from '#lib/printable.ts'

/** All of them belong to one Cluster, and go at once when it no longer wants them. */
const PRUNE_GUARD = '100%'
/** For a Cluster that no commit declares. */
const NO_COMMIT = '0'.repeat(40)

type Track = 'addons' | 'programs'

/** No FleetSource can have this name: none exists in that namespace. */
const ownerOf = (track: Track): InventoryOwner => ({
  source: `${CLUSTERS_NAMESPACE}/${track}`,
  track,
  target: 'Member',
})

export interface InsideTools {
  readonly client: KubeClient
  readonly clock: Clock
  readonly signal: AbortSignal
}

interface Inside {
  readonly cluster: Cluster
  /** What the connection calls the cluster. */
  readonly name: string
  readonly track: Track
  readonly objects: readonly DesiredObject[]
  /** What it delivered before and does not name now stays. */
  readonly keepsOthers?: boolean
}

/** `problems`: what its API server refused, or another writer holds, by object. */
export async function deliverInside(
  { client, clock, signal }: InsideTools,
  { cluster, name, track, objects, keepsOthers = false }: Inside,
) {
  const commit = cluster.metadata.annotations?.[ANNOTATIONS.commit] ?? NO_COMMIT
  const { plan, result, after } = await deliver(
    connectTo(name, client, () => clock.now()),
    {
      target: { objects, rejected: [] },
      owner: ownerOf(track),
      mark: { commit, release: undefined, appliedAt: timestamp(clock.now()) },
      config: {
        commit,
        prune: { enabled: !keepsOthers, guard: PRUNE_GUARD },
        // What is in the namespace of an addon, or of its kinds, may be of people.
        ...(track === 'addons' && { neverPruned: NEVER_PRUNED }),
        drift: 'Correct',
      },
      elsewhere: new Set(),
      approved: new Set(),
      signal,
    },
  )
  const problems: readonly (readonly [object: string, message: string])[] = [
    ...plan.operations.flatMap((o) => (o.kind === 'Conflict' ? [[refText(o.ref), o.detail] as const] : [])),
    ...result.failures.map(({ ref, message }) => [refText(ref), printableLine(message)] as const),
  ]
  return { problems, after }
}

/** What it delivered before and has not removed, also if nothing on the hub records it: the Inventory is written before the objects. */
export async function isDelivered(client: KubeClient, track: Track, signal: AbortSignal): Promise<boolean> {
  const found = await client.get(inventory, { name: shardName(ownerOf(track), 0) }, { signal }).catch((error) => {
    // The cluster has no kinds yet.
    if (isNotFound(error)) return undefined
    throw error
  })
  return found !== undefined && found.spec.refs.length > 0
}
