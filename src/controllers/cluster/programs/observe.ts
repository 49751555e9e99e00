// Reads what the hub has for the programs of one Cluster: their kubeconfigs and replicas on the hub, and in the cluster itself their Leases and pods.
import { programPlace } from '#api/cluster-programs.ts'
import type { Cluster } from '#api/kinds/cluster.ts'
import { HOSTED_PROGRAMS, type HostedProgram, hostedNamespace, programLeaseName, SYSTEM_NAMESPACE } from '#api/names.ts'
import { namespacedName } from '#api/schema/object-meta.ts'
import type { ResourceType } from '#api/schema/resource.ts'
import type { ControlPlane } from '#controlplanes/port.ts'
import { healthOf } from '#delivery/health.ts'
import type { KubeClient } from '#kube/client.ts'
import { messageOf } from '#lib/errors.ts'
import { fieldAt, numberOr } from '#lib/fields.ts'
import { printableLine } from '#lib/printable.ts'
import { hostsIn, lapsedAt, leaseType } from '#runtime/lease.ts'
import type { PlaneClients } from '../control-planes/clients.ts'
import { isDelivered } from '../control-planes/deliver-inside.ts'
import { kubeconfigSeen, programSecretKey, SECRET } from '../control-planes/kubeconfig.ts'
import { idOf, type Leaders, type PodsSeen, type ProgramsSeen, type WaitingPods } from '../seen.ts'
import type { LeaderWatch } from './leader-watch.ts'
import { pullTrouble } from './pulls.ts'

/** A hanging API server must not delay other Clusters. */
const WITHIN_MS = 5_000
const DEPLOYMENT: ResourceType = {
  group: 'apps',
  version: 'v1',
  kind: 'Deployment',
  plural: 'deployments',
  namespaced: true,
}

interface Tools {
  readonly client: KubeClient
  readonly clients: PlaneClients
  readonly now: () => number
  readonly leaders: LeaderWatch
  /** Objects of programs that run in a cluster; empty if this hub has none. Throws if they cannot be read. */
  readonly inClusters: () => Promise<readonly unknown[]>
}

export async function programsSeen(
  tools: Tools,
  cluster: Cluster,
  plane: ControlPlane | undefined,
  signal: AbortSignal,
): Promise<ProgramsSeen> {
  const { client } = tools
  const place = programPlace(cluster.spec)
  const isDeployed = cluster.status?.programs !== undefined
  const isRunning = plane?.state === 'Running'
  const isAsked = isRunning && place !== 'None'
  const secrets = await Promise.all(
    HOSTED_PROGRAMS.map(async (program) => ({
      program,
      secret: await client.get(SECRET, programSecretKey(cluster, program), { signal }),
    })),
  )
  return {
    kubeconfigs: Object.fromEntries(
      secrets.flatMap(({ program, secret }) => (secret === undefined ? [] : [[program, kubeconfigSeen(secret)]])),
    ),
    leaders: isAsked ? await leadersOf(tools, cluster, signal) : undefined,
    pods: isAsked && isDeployed && place === 'Cluster' ? await podsOf(tools, cluster, signal) : undefined,
    hosted: isAsked && isDeployed && place === 'Hub' ? await hostedFor(tools, cluster, signal) : undefined,
    isLeft: isRunning && !isDeployed && place !== 'Cluster' ? await isLeftIn(tools, cluster, signal) : undefined,
    ...(place === 'Cluster' && (await offerOf(tools))),
  }
}

/** Asked only for a Cluster that wants them: what is wrong with them stops no other. */
async function offerOf({ inClusters }: Tools): Promise<Pick<ProgramsSeen, 'isOffered' | 'unreadable'>> {
  try {
    return { isOffered: (await inClusters()).length > 0 }
  } catch (error) {
    return { isOffered: false, unreadable: printableLine(messageOf(error)) }
  }
}

async function isLeftIn({ clients }: Tools, cluster: Cluster, signal: AbortSignal): Promise<boolean | undefined> {
  const within = AbortSignal.any([signal, AbortSignal.timeout(WITHIN_MS)])
  try {
    return await clients.using(idOf(cluster), (client) => isDelivered(client, 'programs', within))
  } catch (error) {
    if (signal.aborted) throw error
    return undefined
  }
}

async function podsOf({ clients }: Tools, cluster: Cluster, signal: AbortSignal): Promise<PodsSeen> {
  const within = AbortSignal.any([signal, AbortSignal.timeout(WITHIN_MS)])
  try {
    const waiting = await clients.using(idOf(cluster), (client) =>
      Promise.all(
        HOSTED_PROGRAMS.map(async (program): Promise<WaitingPods | undefined> => {
          const key = { namespace: SYSTEM_NAMESPACE, name: programLeaseName(program) }
          const deployment = await client.get(DEPLOYMENT, key, { signal: within })
          if (deployment === undefined) return { program, available: 0, why: 'its Deployment does not exist' }
          const available = numberOr(fieldAt(deployment, 'status', 'availableReplicas'), 0)
          const { state, message } = healthOf(deployment)
          // One that was scaled to nothing is as declared to its own status alone.
          if (state === 'Current' && available > 0) return undefined
          const pull = await pullTrouble(client, deployment, within)
          return { program, available, why: pull?.why ?? printableLine(message || 'no pod is available'), pull }
        }),
      ),
    )
    return { kind: 'Read', waiting: waiting.filter((w) => w !== undefined) }
  } catch (error) {
    if (signal.aborted) throw error
    return { kind: 'Unread', why: printableLine(messageOf(error)) }
  }
}

/** As their replicas on the hub list it: the cluster has no say in it. */
async function hostedFor(
  { client, now }: Tools,
  cluster: Cluster,
  signal: AbortSignal,
): Promise<ReadonlySet<HostedProgram>> {
  const id = namespacedName(cluster)
  const found = await Promise.all(
    HOSTED_PROGRAMS.map(async (program) => {
      const { items } = await client.list(leaseType, { namespace: hostedNamespace(program), signal })
      return items.some((lease) => lapsedAt(lease, now()) === undefined && hostsIn(lease).has(id)) ? [program] : []
    }),
  )
  return new Set(found.flat())
}

async function leadersOf({ clients, leaders: watch }: Tools, cluster: Cluster, signal: AbortSignal): Promise<Leaders> {
  const within = AbortSignal.any([signal, AbortSignal.timeout(WITHIN_MS)])
  try {
    const leases = await clients.using(idOf(cluster), (client) =>
      Promise.all(
        HOSTED_PROGRAMS.map((program) =>
          client.get(leaseType, { namespace: SYSTEM_NAMESPACE, name: programLeaseName(program) }, { signal: within }),
        ),
      ),
    )
    const judged = HOSTED_PROGRAMS.map((program, n) => ({
      program,
      is: watch.judge(`${cluster.metadata.uid ?? ''}/${program}`, leases[n]),
    }))
    const unsure = judged.filter(({ is }) => is === 'Unknown').map(({ program }) => program)
    if (unsure.length > 0)
      return { kind: 'Unread', why: `the Leases of ${unsure.join(', ')} are watched for a renewal` }
    const without = judged.filter(({ is }) => is === 'Missing').map(({ program }) => program)
    return { kind: 'Read', without }
  } catch (error) {
    if (signal.aborted) throw error
    return { kind: 'Unread', why: printableLine(messageOf(error)) }
  }
}
