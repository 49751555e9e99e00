// One loop per cluster: reads the cluster's evidence, decides for the fleet, and writes the decision into the cluster. One more loop serves the hub itself.
import { API_GROUP_VERSION } from '#api/kind.ts'
import { BRAKE_NAME, type BrakeSpec, fleetBrake } from '#api/kinds/fleet-brake.ts'
import { machineComponentSet } from '#api/kinds/machine-component-set.ts'
import { nodeRemedier } from '#api/kinds/node-remedier.ts'
import { FIELD_MANAGERS, HUB_TARGET } from '#api/names.ts'
import { isBeingDeleted, keyFrom } from '#api/schema/object-meta.ts'
import { jsonEqual } from '#lib/json.ts'
import type { KubeClient } from '#kube/client.ts'
import { isNotFound } from '#kube/errors.ts'
import { listAll } from '#kube/list-all.ts'
import type { ReconcileContext } from '#runtime/controller.ts'
import { done, requeueAfter, type Outcome } from '#runtime/outcome.ts'
import type { HubShared } from '../hub/shared.ts'
import type { BrakeBook } from './book.ts'
import { type Evidence, evidenceOf } from './evidence.ts'

/** Two small lists per cluster: 500 clusters cost sixteen requests a second. */
const EVERY_MS = 60_000
/** While the cluster changes or waits for a turn. */
const SOON_MS = 10_000
const SPREAD_MS = 15_000
/** A cluster that does not answer occupies one of the controller's workers for this long. */
const ANSWER_MS = 10_000

/** Used as a key: decides from memory, without reading a cluster. */
export const DECIDE = 'decide'
/** Used as a key: every cluster. */
export const ALL = '*'

export interface BrakeLoop extends Pick<HubShared, 'context' | 'clusters' | 'connections'> {
  readonly book: BrakeBook
  /** Requeues the cluster. */
  readonly wake: (clusters: readonly string[]) => void
  /** Called when the clusters that Releases may start have changed. */
  readonly wakeReleases: () => void
}

export async function reconcileBrake(loop: BrakeLoop, key: string, { signal }: ReconcileContext): Promise<Outcome> {
  const { book, context, clusters } = loop
  const { random } = context
  if (key === DECIDE) {
    await decide(loop, key, signal)
    return done
  }
  const cluster = key === HUB_TARGET ? undefined : clusters.get(keyFrom(key))
  if (key !== HUB_TARGET && (cluster === undefined || isBeingDeleted(cluster))) {
    book.forget(key)
    await decide(loop, key, signal)
    return done
  }
  // Spreads 500 clusters after a restart; a fleet with a limit starts nothing until it has read them all.
  if (!book.knows(key) && book.limits.maxChanging === undefined) {
    book.observe(key, undefined)
    return requeueAfter(random.below(EVERY_MS))
  }
  const limited = AbortSignal.any([signal, AbortSignal.timeout(ANSWER_MS)])
  const client = await clientOf(loop, key, limited)
  book.observe(key, client && (await readEvidence(client, limited)))
  signal.throwIfAborted()
  if (key === HUB_TARGET) book.reread()
  await decide(loop, key, signal)
  if (cluster !== undefined && client !== undefined && book.isRead && (await carry(client, key, book, limited)))
    await decide(loop, key, signal)
  const isSoon = book.spec?.turns?.some((turn) => turn.cluster === key) === true
  return requeueAfter((isSoon ? SOON_MS : EVERY_MS) + random.below(SPREAD_MS))
}

async function decide({ book, wake, wakeReleases }: BrakeLoop, own: string, signal: AbortSignal): Promise<void> {
  const decided = await book.decide(signal)
  if (decided === undefined) return
  const { hasNewStops, turned } = decided
  if (hasNewStops) wake([ALL])
  else wake(turned.filter((cluster) => cluster !== own))
  if (hasNewStops || turned.length > 0) wakeReleases()
}

async function clientOf(
  { context, clusters, connections }: BrakeLoop,
  key: string,
  signal: AbortSignal,
): Promise<KubeClient | undefined> {
  if (key === HUB_TARGET) return context.client
  const cluster = clusters.get(keyFrom(key))
  if (cluster === undefined) return undefined
  try {
    return (await connections.to(cluster, undefined, signal)).program
  } catch {
    // The health loop of the cluster reports the reason.
    return undefined
  }
}

async function readEvidence(client: KubeClient, signal: AbortSignal): Promise<Evidence | undefined> {
  try {
    const [sets, rules] = await Promise.all([
      listAll(client, machineComponentSet, { signal }),
      listAll(client, nodeRemedier, { signal }),
    ])
    return evidenceOf(sets, rules)
  } catch (error) {
    // Without KubeNode's kinds nothing can have failed there.
    return isNotFound(error) ? evidenceOf([], []) : undefined
  }
}

/** Returns whether it revoked the cluster's turn. */
async function carry(client: KubeClient, key: string, book: BrakeBook, signal: AbortSignal): Promise<boolean> {
  try {
    const live = await client.get(fleetBrake, { name: BRAKE_NAME }, { signal })
    // This cluster is the hub itself.
    if (live !== undefined && live.spec.cluster === undefined) {
      book.copied(key, false)
      return false
    }
    const wanted = book.copyFor(key)
    const hasTurn = wanted.turns !== undefined
    // Recorded before the write, because its reply may be lost.
    if (hasTurn) book.copied(key, true)
    if (live === undefined ? saysSomething(wanted) : !jsonEqual(live.spec, wanted))
      await client.apply(
        fleetBrake,
        { apiVersion: API_GROUP_VERSION, kind: fleetBrake.kind, metadata: { name: BRAKE_NAME }, spec: wanted },
        { fieldManager: FIELD_MANAGERS.sync, force: true, signal },
      )
    if (!hasTurn) book.copied(key, false)
    return !hasTurn && book.spec?.turns?.some((t) => t.cluster === key) === true
  } catch (error) {
    // An older KubeNode there lacks the kind and obeys no brake.
    if (isNotFound(error)) book.copied(key, false)
    return false
  }
}

const saysSomething = ({ maxChanging, stops = [] }: BrakeSpec): boolean => maxChanging !== undefined || stops.length > 0
