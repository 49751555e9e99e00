// Reports on each Cluster whether its API server answers sync: the hub's Defender decides from this condition. What does not answer is Unknown, never unhealthy.
import { cluster as clusterKind, type Cluster } from '#api/kinds/cluster.ts'
import { inventory } from '#api/kinds/inventory.ts'
import { FIELD_MANAGERS } from '#api/names.ts'
import { messageOf } from '#lib/errors.ts'
import { printableLine } from '#lib/printable.ts'
import { setConditions, type WantedCondition } from '#kube/conditions.ts'
import { isNotFound } from '#kube/errors.ts'
import type { ReconcileContext } from '#runtime/controller.ts'
import { done, requeueAfter, type Outcome } from '#runtime/outcome.ts'
import { writeStatus, writtenOrThrow } from '#runtime/write-status.ts'
import { unreachableReason } from '../cluster/unreachable.ts'
import { keyParts, type HubParts } from './parts.ts'

/** A cluster that stops answering is noticed within this; 500 of them cost eight small requests a second. */
const EVERY_MS = 60_000
/** Clusters share the load evenly, also after a restart. */
const SPREAD_MS = 15_000
/** One that does not answer delays no other: see the workers of the controller. */
const ANSWER_MS = 10_000

export async function reconcileClusterHealth(
  parts: HubParts,
  key: string,
  { signal }: ReconcileContext,
): Promise<Outcome> {
  const { client, clock, random } = parts.context
  const object = parts.clusters.get(keyParts(key))
  if (object === undefined || object.metadata.deletionTimestamp !== undefined) return done
  const ready = await readyCondition(parts, object, signal)
  const { generation } = object.metadata
  const wanted = generation === undefined ? ready : { ...ready, observedGeneration: generation }
  const status = { ...object.status, conditions: setConditions(object.status?.conditions, [wanted], clock.now()) }
  const own = { client, type: clusterKind, fieldManager: FIELD_MANAGERS.sync, cache: parts.clusters }
  writtenOrThrow(await writeStatus({ ...own, object, status, signal }))
  return requeueAfter(EVERY_MS + random.below(SPREAD_MS))
}

async function readyCondition(
  { connections }: HubParts,
  object: Cluster,
  signal: AbortSignal,
): Promise<Omit<WantedCondition, 'observedGeneration'>> {
  const limited = AbortSignal.any([signal, AbortSignal.timeout(ANSWER_MS)])
  try {
    const { program } = await connections.to(object, undefined, limited)
    await program.list(inventory, { limit: 1, signal: limited })
  } catch (error) {
    if (signal.aborted) throw error
    // It answers; our kinds are not installed there yet.
    if (!isNotFound(error)) {
      const reason = limited.aborted ? 'ApiServerDown' : unreachableReason(error)
      return { type: 'Ready', status: 'Unknown', reason, message: printableLine(messageOf(error)) }
    }
  }
  return { type: 'Ready', status: 'True', reason: 'ClusterAnswers', message: 'the API server answers' }
}
