// Reports on each Cluster since when its API server answers sync, when sync's credentials expire, and how many machines and agents it has. A registered
// one also gets its phase and condition, which the hub's Defender uses. A cluster that does not answer is Unknown, never unhealthy; the status shows
// since when, why, and what must change.
import { cluster as clusterKind, type Cluster } from '#api/kinds/cluster.ts'
import { inventory } from '#api/kinds/inventory.ts'
import { FIELD_MANAGERS, syncSecretsNamespace } from '#api/names.ts'
import { keyFrom } from '#api/schema/object-meta.ts'
import { timestamp } from '#lib/clock.ts'
import type { KubeClient } from '#kube/client.ts'
import { setConditions, type WantedCondition } from '#kube/conditions.ts'
import { isNotFound } from '#kube/errors.ts'
import type { ReconcileContext } from '#runtime/controller.ts'
import { done, requeueAfter, type Outcome } from '#runtime/outcome.ts'
import { waitingSince, type Wait } from '#runtime/waiting.ts'
import { writeStatus, writtenOrThrow } from '#runtime/write-status.ts'
import { machineCount } from '../cluster/readings.ts'
import { UNBLOCKS, unreachable, type UnreachableReason } from '../cluster/unreachable.ts'
import type { SyncContext } from './context.ts'
import { MachineCounts } from './machine-counts.ts'
import type { HubShared } from './shared.ts'
import { defined } from '#lib/defined.ts'

/** Time until a cluster that stops answering is noticed; 500 clusters cost eight small requests a second. */
const EVERY_MS = 60_000
/** Clusters share the load evenly, also after a restart. */
const SPREAD_MS = 15_000
/** A cluster that does not answer delays no other: see the workers of the controller. */
const ANSWER_MS = 10_000
/** Twenty pages of 500 machines. */
const COUNT_MS = 15_000
const MOST_VERSION_CHARS = 64

/** The loop's dependencies: the shared ones, and when machines were last counted. */
export interface HealthLoop {
  readonly context: Pick<SyncContext, 'client' | 'clock' | 'random'>
  readonly clusters: HubShared['clusters']
  readonly connections: Pick<HubShared['connections'], 'to' | 'credentialsEnd'>
  readonly machineCounts: MachineCounts
}

export const healthLoop = ({ context, clusters, connections }: HubShared): HealthLoop => ({
  context,
  clusters,
  connections,
  machineCounts: new MachineCounts(context.clock, context.random),
})

export async function reconcileClusterHealth(
  loop: HealthLoop,
  key: string,
  { signal }: ReconcileContext,
): Promise<Outcome> {
  const { client, random } = loop.context
  const object = loop.clusters.get(keyFrom(key))
  if (object === undefined || object.metadata.deletionTimestamp !== undefined) {
    loop.machineCounts.forget(key)
    return done
  }
  const seen = await readHealth(loop, object, signal)
  const machines = await machinesOf(loop, key, object, seen, signal)
  const found = { ...answerOf(loop, object, seen), ...defined({ machines }) }
  const { reachableSince: _since, credentialsEnd: _end, machines: _machines, ...kept } = object.status ?? {}
  const answered = { ...kept, ...found }
  // The creator of a control plane reports whether it runs.
  const status = object.spec.controlPlane === undefined ? registered(loop, object, seen, answered) : answered
  const own = { client, type: clusterKind, fieldManager: FIELD_MANAGERS.sync, cache: loop.clusters }
  writtenOrThrow(await writeStatus({ ...own, object, status, signal }))
  return requeueAfter(EVERY_MS + random.below(SPREAD_MS))
}

type Status = NonNullable<Cluster['status']>
type Answer = Pick<Status, 'reachableSince' | 'credentialsEnd' | 'machines'>

function answerOf({ connections, context: { clock } }: HealthLoop, object: Cluster, { kind }: HealthReading): Answer {
  const end = connections.credentialsEnd(object)
  const { reachableSince = timestamp(clock.now()), credentialsEnd } = object.status ?? {}
  // A token's end cannot be read. For a certificate, the last known end stays while the server does not answer.
  const credentials = end === undefined ? (kind === 'Answers' ? undefined : credentialsEnd) : timestamp(end)
  return {
    ...defined({ credentialsEnd: credentials }),
    ...(kind === 'Answers' && { reachableSince }),
  }
}

/** Uses the last count until the next one. If many clusters return at once, they are counted in the next round. */
async function machinesOf(
  { connections, machineCounts }: HealthLoop,
  key: string,
  object: Cluster,
  { kind }: HealthReading,
  signal: AbortSignal,
): Promise<Answer['machines']> {
  if (kind !== 'Answers') {
    machineCounts.forget(key)
    return undefined
  }
  const { reachableSince, machines } = object.status ?? {}
  if (reachableSince === undefined || !machineCounts.isDue(key, machines)) return machineCounts.last(key)
  const limited = AbortSignal.any([signal, AbortSignal.timeout(COUNT_MS)])
  const counted = await machineCount(await connections.to(object, undefined, limited), limited)
  signal.throwIfAborted()
  machineCounts.counted(key, counted)
  return counted
}

function registered(
  { connections, context: { clock } }: HealthLoop,
  object: Cluster,
  seen: HealthReading,
  { waitingFor, ...answered }: Status,
): Status {
  const now = clock.now()
  const refusal = seen.kind === 'Answers' ? undefined : refusalOf(object, seen, connections.credentialsEnd(object), now)
  const { generation } = object.metadata
  const wanted = conditionOf(refusal)
  return {
    ...answered,
    phase: refusal === undefined ? ('Ready' as const) : ('Unreachable' as const),
    ...(seen.kind === 'Answers' && seen.version !== undefined && { versions: [versionRow(seen.version)] }),
    ...(refusal !== undefined && { waitingFor: waitingSince(waitingFor, refusal, now) }),
    conditions: setConditions(
      object.status?.conditions,
      [generation === undefined ? wanted : { ...wanted, observedGeneration: generation }],
      now,
    ),
  }
}

type HealthReading =
  | { readonly kind: 'Answers'; readonly version: string | undefined }
  | { readonly kind: 'Refused'; readonly because: UnreachableReason; readonly message: string }

type Refusal = Wait<UnreachableReason>

const versionRow = (version: string) => ({ part: 'apiserver', version })

const conditionOf = (refusal: Refusal | undefined): Omit<WantedCondition, 'observedGeneration'> =>
  refusal === undefined
    ? { type: 'Ready', status: 'True', reason: 'ClusterAnswers', message: 'the API server answers' }
    : { type: 'Ready', status: 'Unknown', reason: refusal.predicate, message: refusal.seen }

/** Servers do not distinguish an expired certificate from an unknown user. */
function refusalOf(
  { metadata: { namespace = '' }, spec }: Cluster,
  { because, message }: HealthReading & { kind: 'Refused' },
  end: number | undefined,
  now: number,
): Refusal {
  const isOver = because === 'CredentialsInvalid' && end !== undefined && end <= now
  const ref = spec.kubeconfigSecretRef
  return {
    predicate: because,
    seen: isOver ? `the client certificate of the kubeconfig ended at ${timestamp(end)}; ${message}` : message,
    unblock:
      because === 'CredentialsInvalid' && ref !== undefined
        ? `Secret ${syncSecretsNamespace(namespace)}/${ref.name} has a kubeconfig that fits the cluster, with the required permissions`
        : UNBLOCKS[because],
  }
}

async function readHealth({ connections }: HealthLoop, object: Cluster, signal: AbortSignal): Promise<HealthReading> {
  const limited = AbortSignal.any([signal, AbortSignal.timeout(ANSWER_MS)])
  try {
    const { program } = await connections.to(object, undefined, limited)
    await program.list(inventory, { limit: 1, signal: limited })
    return { kind: 'Answers', version: await versionOf(program, limited) }
  } catch (error) {
    if (signal.aborted) throw error
    // It answers, but the KubeNode kinds are not installed there yet.
    if (isNotFound(error)) return { kind: 'Answers', version: undefined }
    const { because, message } = unreachable(error)
    return { kind: 'Refused', because: limited.aborted ? 'ApiServerDown' : because, message }
  }
}

/** Undefined when the server hides its version: that is no reason to doubt the server. */
async function versionOf(client: KubeClient, signal: AbortSignal): Promise<string | undefined> {
  const { status, text } = await client.raw({ method: 'GET', path: '/version', signal })
  if (status !== 200) return undefined
  const version = /"gitVersion"\s*:\s*"v?([0-9][^"]{0,62})"/.exec(text)?.[1]
  return version?.slice(0, MOST_VERSION_CHARS)
}
