// Sources, releases, pipelines and clusters are on the hub. A server without any of them may be a member, where finding none means nothing.
import { cluster } from '#api/kinds/cluster.ts'
import { fleetSource } from '#api/kinds/fleet-source.ts'
import type { KubeClient } from '#kube/client.ts'
import { printableLine } from '#lib/printable.ts'
import { placeOf } from './place.ts'

const MOST_NAMED = 5

/** A hub without nodes of its own has none of their objects, and a new user looks for them first. Empty elsewhere. */
export async function clustersHint(client: Pick<KubeClient, 'list'>): Promise<string> {
  const clusters = await client.list(cluster, { limit: MOST_NAMED }).catch(() => undefined)
  const names = (clusters?.items ?? []).map((c) => c.metadata.name ?? '')
  if (names.length === 0) return ''
  return `; it is the hub of ${printableLine(names.join(', '))}; name the context of a cluster with --context`
}

/** On a server that is not the hub: `nothing`, plus where to look instead. On the hub, or for a user who may not list sources: `atHub`. */
export async function withHubHint(
  client: Pick<KubeClient, 'list' | 'place'>,
  nothing: string,
  atHub = nothing,
): Promise<string> {
  const sources = await client.list(fleetSource, { limit: 1 }).catch(() => undefined)
  if (sources?.items.length !== 0) return atHub
  return `${nothing}; ${placeOf(client)} has no FleetSource, so it is not the hub; name the context of the hub with --context`
}
