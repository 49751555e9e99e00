// Reports on each Cluster whether its API server answers sync: the hub's Defender decides from this condition. What does not answer is Unknown, never unhealthy.
import { cluster as clusterKind, type Cluster } from '#api/kinds/cluster.ts'
import { inventory } from '#api/kinds/inventory.ts'
import { FIELD_MANAGERS } from '#api/names.ts'
import { timestamp } from '#lib/clock.ts'
import type { KubeClient } from '#kube/client.ts'
import { setConditions, type WantedCondition } from '#kube/conditions.ts'
import { isNotFound } from '#kube/errors.ts'
import type { ReconcileContext } from '#runtime/controller.ts'
import { done, requeueAfter, type Outcome } from '#runtime/outcome.ts'
import { writeStatus, writtenOrThrow } from '#runtime/write-status.ts'
import { unreachable } from '../cluster/unreachable.ts'
import { keyParts, type HubParts } from './parts.ts'

/** A cluster that stops answering is noticed within this; 500 of them cost eight small requests a second. */
const EVERY_MS = 60_000
/** Clusters share the load evenly, also after a restart. */
const SPREAD_MS = 15_000
/** One that does not answer delays no other: see the workers of the controller. */
const ANSWER_MS = 10_000
const MOST_VERSION_CHARS = 64

export async function reconcileClusterHealth(
  parts: HubParts,
  key: string,
  { signal }: ReconcileContext,
): Promise<Outcome> {
  const { client, clock, random } = parts.context
  const object = parts.clusters.get(keyParts(key))
  if (object === undefined || object.metadata.deletionTimestamp !== undefined) return done
  // Who makes its control plane reports on it.
  if (object.spec.controlPlane !== undefined) return done
  const { condition, version } = await look(parts, object, signal)
  const { generation } = object.metadata
  const wanted = generation === undefined ? condition : { ...condition, observedGeneration: generation }
  const end = parts.connections.credentialsEnd(object)
  const status = {
    ...withoutSince(object.status, condition.status),
    ...(version !== undefined && { versions: [{ part: 'apiserver', version }] }),
    ...(end !== undefined && { credentialsEnd: timestamp(end) }),
    ...(condition.status === 'True' && { reachableSince: object.status?.reachableSince ?? timestamp(clock.now()) }),
    conditions: setConditions(object.status?.conditions, [wanted], clock.now()),
  }
  const own = { client, type: clusterKind, fieldManager: FIELD_MANAGERS.sync, cache: parts.clusters }
  writtenOrThrow(await writeStatus({ ...own, object, status, signal }))
  return requeueAfter(EVERY_MS + random.below(SPREAD_MS))
}

/** What was last known of a cluster stays, but not that it answers. */
function withoutSince(status: Cluster['status'], ready: string): NonNullable<Cluster['status']> {
  const { reachableSince, ...others } = status ?? {}
  return reachableSince === undefined || ready !== 'True' ? others : { ...others, reachableSince }
}

interface Look {
  readonly condition: Omit<WantedCondition, 'observedGeneration'>
  readonly version?: string
}

async function look({ connections }: HubParts, object: Cluster, signal: AbortSignal): Promise<Look> {
  const limited = AbortSignal.any([signal, AbortSignal.timeout(ANSWER_MS)])
  let version: string | undefined
  try {
    const { program } = await connections.to(object, undefined, limited)
    await program.list(inventory, { limit: 1, signal: limited })
    version = await versionOf(program, limited)
  } catch (error) {
    if (signal.aborted) throw error
    // It answers; our kinds are not installed there yet.
    if (!isNotFound(error)) {
      const { because, message } = unreachable(error)
      const reason = limited.aborted ? 'ApiServerDown' : because
      return { condition: { type: 'Ready', status: 'Unknown', reason, message } }
    }
  }
  const condition = {
    type: 'Ready',
    status: 'True',
    reason: 'ClusterAnswers',
    message: 'the API server answers',
  } as const
  return { condition, ...(version !== undefined && { version }) }
}

/** Undefined when the server keeps it to itself: that is no reason to doubt the server. */
async function versionOf(client: KubeClient, signal: AbortSignal): Promise<string | undefined> {
  const { status, text } = await client.raw({ method: 'GET', path: '/version', signal })
  if (status !== 200) return undefined
  const said = /"gitVersion"\s*:\s*"v?([0-9][^"]{0,62})"/.exec(text)?.[1]
  return said?.slice(0, MOST_VERSION_CHARS)
}
