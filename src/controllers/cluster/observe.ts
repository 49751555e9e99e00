// Gathers the inputs of a Cluster decision: the hub's objects, what the control plane host runs, and, for a deletion, the machines in the cluster's
// own API server.
import { cluster as clusterKind, type Cluster } from '#api/kinds/cluster.ts'
import { type Inventory, inventory } from '#api/kinds/inventory.ts'
import { defenderPolicy } from '#api/kinds/defender-policy.ts'
import { type Approval, approval } from '#api/kinds/approval.ts'
import { operationalHold } from '#api/kinds/operational-hold.ts'
import { operationPermit } from '#api/kinds/operation-permit.ts'
import type { EndedPermits } from '#permits/ended-for.ts'
import { permitAnswer } from '#permits/permits.ts'
import { machine } from '#api/kinds/machine.ts'
import { FIELD_MANAGERS } from '#api/names.ts'
import { isBeingDeleted, keyFrom } from '#api/schema/object-meta.ts'
import type { KubeObject } from '#api/schema/object.ts'
import type { Addons } from './addons/built-in.ts'
import { declaredAddons } from './addons/named.ts'
import { recipesOf } from './addons/recipes.ts'
import type { ControlPlane, ControlPlaneHost } from '#controlplanes/port.ts'
import { clusterReadiness } from '#controlplanes/upgrade/cluster-readiness.ts'
import { unreadable } from '#controlplanes/upgrade/preflight.ts'
import type { KubeClient } from '#kube/client.ts'
import { isNotFound } from '#kube/errors.ts'
import { listWanted } from '#kube/list-all.ts'
import { messageOf } from '#lib/errors.ts'
import { printableLine } from '#lib/printable.ts'
import { type Informers, requireFresh } from '#runtime/informers.ts'
import type { Hosts } from './control-planes/hosts.ts'
import { kubeconfigSeen, SECRET, secretKey } from './control-planes/kubeconfig.ts'
import { capsOf } from './plan-lifetime.ts'
import type { PlaneClients } from './control-planes/clients.ts'
import type { LeaderWatch } from './programs/leader-watch.ts'
import { programsSeen } from './programs/observe.ts'
import { needsAgentReports, trustOf } from './plan-rotation.ts'
import { isStepwise } from './plan-steps.ts'
import { idOf, type Seen } from './seen.ts'

const BY_REQUESTER = 'cluster-requester'

export const cachesOf = (informers: Informers) => ({
  clusters: informers.of(clusterKind),
  permits: informers.of(operationPermit, {
    indexes: {
      [BY_REQUESTER]: ({ spec: { requester: r } }) => (r.manager === FIELD_MANAGERS.cluster ? [r.uid ?? ''] : []),
    },
  }),
  approvals: informers.of(approval),
  holds: informers.of(operationalHold),
  inventories: informers.of(inventory),
  policies: informers.of(defenderPolicy),
})

type Caches = ReturnType<typeof cachesOf>

export interface Observing {
  readonly client: KubeClient
  readonly caches: Caches
  readonly hosts: Hosts
  readonly addons: () => Promise<Addons>
  /** This hub runs the programs of its Clusters. */
  readonly hostsPrograms: boolean
  /** Objects of programs that run in a cluster; empty if this hub has none. Throws if they cannot be read. */
  readonly inClusters: () => Promise<readonly KubeObject[]>
  readonly ended: EndedPermits
  readonly leaders: LeaderWatch
  readonly now: () => number
}

/** A hanging API server must not delay other Clusters. */
const MACHINES_WITHIN_MS = 10_000
/** Lists all nodes, budgets and webhooks. */
const READINESS_WITHIN_MS = 15_000

export async function observe(tools: Observing, key: string, signal: AbortSignal): Promise<Seen | undefined> {
  const { caches } = tools
  requireFresh([caches.clusters, caches.permits, caches.approvals, caches.holds, caches.policies, caches.inventories])
  const cluster = caches.clusters.get(keyFrom(key))
  if (cluster?.spec.controlPlane === undefined) return undefined
  const { host, clients } = tools.hosts.of(cluster)
  const asked = await planeOf(host, cluster, signal)
  const secret = await tools.client.get(SECRET, secretKey(cluster), { signal })
  const { uid = '' } = cluster.metadata
  const caps = capsOf(caches.policies.list(), cluster)
  const permits = caches.permits.byIndex(BY_REQUESTER, uid)
  return {
    cluster,
    plane: asked.plane,
    host,
    unanswered: asked.unanswered,
    kubeconfig: secret === undefined ? undefined : kubeconfigSeen(secret),
    programs: tools.hostsPrograms
      ? await programsSeen(
          { client: tools.client, clients, now: tools.now, leaders: tools.leaders, inClusters: tools.inClusters },
          cluster,
          asked.plane,
          signal,
        )
      : undefined,
    permits,
    endedFor: tools.ended.observe(
      uid,
      permits.filter((p) => permitAnswer(p, uid).kind === 'Ended'),
    ),
    approved: approvedAt(caches.approvals.list(), tools.now()),
    machines: await machinesOf(clients, cluster, asked.plane, signal),
    agents: await agentsOf(clients, cluster, asked.plane, signal),
    readiness: await readinessOf({ host, clients }, cluster, asked.plane, signal),
    addons: (await tools.addons()).version,
    recipes: await recipesOf(tools.client, declaredAddons(cluster), signal),
    holds: caches.holds.list(),
    isDeclared: isBeingDeleted(cluster) && isListed(caches.inventories.list(), cluster),
    caps,
    hosted:
      cluster.spec.ttl === undefined && caps.maxCreating === undefined
        ? []
        : caches.clusters.list().filter((c) => c.spec.controlPlane !== undefined),
  }
}

interface Asked {
  readonly plane: ControlPlane | undefined
  readonly unanswered: string | undefined
}

async function planeOf(host: ControlPlaneHost, cluster: Cluster, signal: AbortSignal): Promise<Asked> {
  try {
    return { plane: await host.get(idOf(cluster), signal), unanswered: undefined }
  } catch (error) {
    if (signal.aborted) throw error
    return { plane: undefined, unanswered: printableLine(messageOf(error)) }
  }
}

async function machinesOf(
  clients: PlaneClients,
  cluster: Cluster,
  plane: ControlPlane | undefined,
  signal: AbortSignal,
): Promise<Seen['machines']> {
  if (!isBeingDeleted(cluster) || plane?.state !== 'Running' || cluster.spec.deletionPolicy !== 'Delete')
    return undefined
  try {
    return await clients.using(idOf(cluster), async (client) => {
      const within = AbortSignal.any([signal, AbortSignal.timeout(MACHINES_WITHIN_MS)])
      // Machines that are only observed are not the cluster's to remove.
      return await listWanted(client, machine, { signal: within }, (m) =>
        m.spec.channel === 'Observe' ? [] : [m.metadata.name ?? ''],
      )
    })
  } catch (error) {
    if (signal.aborted) throw error
    // The cluster was deleted before it got the kinds.
    return isNotFound(error) ? [] : undefined
  }
}

/** Undefined if no rotation needs it, or if the API server does not answer. In that case the rotation waits. */
async function agentsOf(
  clients: PlaneClients,
  cluster: Cluster,
  plane: ControlPlane | undefined,
  signal: AbortSignal,
): Promise<Seen['agents']> {
  if (plane?.state !== 'Running' || !needsAgentReports(cluster, plane)) return undefined
  try {
    const within = AbortSignal.any([signal, AbortSignal.timeout(MACHINES_WITHIN_MS)])
    return await clients.using(idOf(cluster), (client) => listWanted(client, machine, { signal: within }, trustOf))
  } catch (error) {
    if (signal.aborted) throw error
    return undefined
  }
}

/** Read only before an upgrade. If the server hangs or refuses, readiness is unknown, which blocks the upgrade. */
async function readinessOf(
  { host, clients }: ReturnType<Hosts['of']>,
  cluster: Cluster,
  plane: ControlPlane | undefined,
  signal: AbortSignal,
): Promise<Seen['readiness']> {
  if (plane === undefined || plane.version === cluster.spec.version || isStepwise({ host })) return undefined
  const within = AbortSignal.any([signal, AbortSignal.timeout(READINESS_WITHIN_MS)])
  try {
    return await clients.using(idOf(cluster), (client) => clusterReadiness(client, within))
  } catch (error) {
    if (signal.aborted) throw error
    return unreadable(printableLine(messageOf(error)))
  }
}

/** When sync prunes an object, it removes the digest, but keeps the list entry until the finalizers are done. */
const isListed = (inventories: readonly Inventory[], { metadata }: Cluster): boolean =>
  inventories.some(
    ({ spec }) =>
      spec.target !== 'Member' &&
      spec.refs.some((r) => r.kind === clusterKind.kind && r.uid === metadata.uid && r.digest !== undefined),
  )

const approvedAt = (approvals: readonly Approval[], now: number): ReadonlySet<string> =>
  new Set(
    approvals.flatMap(({ spec }) => (spec.until === undefined || Date.parse(spec.until) > now ? [spec.digest] : [])),
  )
