// Delivers the addons that a Cluster names to its API server: in order, with an Inventory there, so that addons that are no longer named are removed.
// Decides nothing.
import type { AddonNetwork } from '#api/constructs/addons/addon.ts'
import { addonObjects, type DeclaredAddon } from '#api/constructs/addons/table.ts'
import type { Cluster } from '#api/kinds/cluster.ts'
import { ANNOTATIONS, CLUSTERS_NAMESPACE } from '#api/names.ts'
import { DEFAULT_NETWORK } from '#controlplanes/port.ts'
import { connectTo } from '#delivery/connection.ts'
import { deliver } from '#delivery/deliver.ts'
import { desiredOf } from '#delivery/desired.ts'
import { healthOf } from '#delivery/health.ts'
import { type ObjectRef, refText } from '#delivery/object-ref.ts'
import type { Observed } from '#delivery/observe.ts'
import type { KubeClient } from '#kube/client.ts'
import { type Clock, timestamp } from '#lib/clock.ts'
import { defined } from '#lib/defined.ts'
import { printableLine } from '#lib/printable.ts'

/** The result of one addon. False: an object of it was refused or is broken. Unknown: it is applied, but may be waiting for machines. */
export interface NamedResult {
  readonly name: string
  readonly version: string
  readonly healthy: 'True' | 'False' | 'Unknown'
  readonly object?: string
  readonly message?: string
}

/** No FleetSource can have this name: none exists in that namespace. */
const OWNER = { source: `${CLUSTERS_NAMESPACE}/addons`, track: 'addons', target: 'Member' } as const
/** All addons belong to one Cluster, and a commit removed them from it. */
const PRUNE = { enabled: true, guard: '100%' } as const
/** For a Cluster that no commit declares. */
const NO_COMMIT = '0'.repeat(40)

interface Tools {
  readonly client: KubeClient
  readonly clock: Clock
  readonly signal: AbortSignal
}

export const declaredAddons = ({ spec }: Cluster): readonly DeclaredAddon[] =>
  (spec.addons ?? []).map(({ name, version, values }) => ({
    name,
    version,
    ...defined({ values }),
  }))

const networkOf = ({ spec: { network } }: Cluster): AddonNetwork => ({
  services: network?.serviceCIDR ?? DEFAULT_NETWORK.services,
  domain: network?.dnsDomain ?? DEFAULT_NETWORK.domain,
})

export async function deliverAddons(tools: Tools, cluster: Cluster): Promise<readonly NamedResult[]> {
  const { client, clock, signal } = tools
  const network = networkOf(cluster)
  const addons = declaredAddons(cluster).map((addon) => ({
    addon,
    objects: addonObjects(addon, network).map(desiredOf),
  }))
  const commit = cluster.metadata.annotations?.[ANNOTATIONS.commit] ?? NO_COMMIT
  const connection = connectTo(cluster.metadata.name ?? '', client, () => clock.now())
  const { plan, result, after } = await deliver(connection, {
    target: { objects: addons.flatMap(({ objects }) => objects), rejected: [] },
    owner: OWNER,
    mark: { commit, release: undefined, appliedAt: timestamp(clock.now()) },
    config: { commit, prune: PRUNE, drift: 'Correct' },
    elsewhere: new Set(),
    approved: new Set(),
    signal,
  })
  const problems = new Map<string, string>([
    ...plan.operations.flatMap((o) => (o.kind === 'Conflict' ? [[refText(o.ref), o.detail] as const] : [])),
    ...result.failures.map(({ ref, message }) => [refText(ref), printableLine(message)] as const),
  ])
  return addons.map(({ addon, objects }) =>
    resultOf(
      addon,
      objects.map(({ ref }) => ref),
      problems,
      after,
    ),
  )
}

function resultOf(
  { name, version }: DeclaredAddon,
  refs: readonly ObjectRef[],
  problems: ReadonlyMap<string, string>,
  { objects }: Observed,
): NamedResult {
  const of = { name, version }
  const wrong = refs.map(refText).find((text) => problems.has(text))
  if (wrong !== undefined) return { ...of, healthy: 'False', object: wrong, message: problems.get(wrong) ?? '' }
  const healths = refs.map((ref) => {
    const object = objects.get(refText(ref))
    const health = object === undefined ? { state: 'InProgress' as const, message: 'not found' } : healthOf(object)
    return { object: refText(ref), ...health }
  })
  const failed = healths.find(({ state }) => state === 'Failed')
  if (failed !== undefined)
    return { ...of, healthy: 'False', object: failed.object, message: printableLine(failed.message) }
  const waiting = healths.find(({ state }) => state !== 'Current')
  return waiting === undefined
    ? { ...of, healthy: 'True' }
    : { ...of, healthy: 'Unknown', object: waiting.object, message: printableLine(waiting.message) }
}
