// Reads what the summary shows, once or on each change. A cluster that does not answer is a finding, not an error.
import { cluster } from '#api/kinds/cluster.ts'
import { fleetSource } from '#api/kinds/fleet-source.ts'
import { machineComponentSet } from '#api/kinds/machine-component-set.ts'
import { machineSet } from '#api/kinds/machine-set.ts'
import { type Machine, machine } from '#api/kinds/machine.ts'
import { nodeRemedier } from '#api/kinds/node-remedier.ts'
import { release } from '#api/kinds/release.ts'
import { remedyOperationJob } from '#api/kinds/remedy-operation-job.ts'
import { agentLeaseName, programLeaseName, SYSTEM_NAMESPACE } from '#api/names.ts'
import type { KubeClient } from '#kube/client.ts'
import { createInformer, type Informer } from '#kube/informer.ts'
import type { Selection } from '#kube/reflector.ts'
import { systemClock } from '#lib/system-clock.ts'
import { systemRandom } from '#lib/random.ts'
import { type Lease, lapsedAt, leaseType } from '#runtime/lease.ts'
import type { KubeObject } from '#api/schema/object.ts'
import type { ResourceType } from '#api/schema/resource.ts'
import type { StoppedProgram } from '#explain/programs.ts'
import type { ClusterSeen, FleetSeen, HubSeen } from '#explain/progress/seen.ts'

const READ_TIMEOUT_MS = 3_000
/** How long to reuse a server's answer; caches are fresher for everything else. */
const ANSWER_COUNTS_MS = 2_000

/** Roles that have a leader. */
const LED_ROLES = ['sync', 'controllers', 'approver', 'defender', 'cluster'] as const

const all = async <T extends KubeObject>(client: KubeClient, type: ResourceType<T>): Promise<readonly T[]> =>
  (await client.list(type, { timeoutMs: READ_TIMEOUT_MS })).items

function lastHeartbeatsOf(machines: readonly Machine[], leases: readonly Lease[]): ReadonlyMap<string, number> {
  const renewed = new Map(leases.map((l) => [l.metadata.name, Date.parse(l.spec?.renewTime ?? '') || 0]))
  return new Map(machines.map(({ metadata: { name = '' } }) => [name, renewed.get(agentLeaseName(name)) ?? 0]))
}

/** A local fleet runs on one machine with one clock. */
function stoppedIn(leases: readonly Lease[]): readonly StoppedProgram[] {
  const now = systemClock.now()
  return leases.flatMap((lease) => {
    const program = LED_ROLES.find((role) => lease.metadata.name === programLeaseName(role))
    const since = program === undefined ? undefined : lapsedAt(lease, now)
    return program === undefined || since === undefined ? [] : [{ program, since }]
  })
}

async function seenOf(name: string, client: KubeClient): Promise<ClusterSeen> {
  try {
    const [machines, machineSets, sets, jobs, remediers, leases] = await Promise.all([
      all(client, machine),
      all(client, machineSet),
      all(client, machineComponentSet),
      all(client, remedyOperationJob),
      all(client, nodeRemedier),
      client.list(leaseType, { namespace: SYSTEM_NAMESPACE, timeoutMs: READ_TIMEOUT_MS }),
    ])
    return {
      name,
      isReachable: true,
      machines,
      machineSets,
      sets,
      jobs,
      remediers,
      lastHeartbeats: lastHeartbeatsOf(machines, leases.items),
      stopped: stoppedIn(leases.items),
    }
  } catch {
    return { name, isReachable: false, machines: [], machineSets: [], sets: [], jobs: [], lastHeartbeats: new Map() }
  }
}

async function hubSeen(client: KubeClient): Promise<HubSeen> {
  try {
    const [sources, releases, clusters, leases] = await Promise.all([
      all(client, fleetSource),
      all(client, release),
      all(client, cluster),
      client.list(leaseType, { namespace: SYSTEM_NAMESPACE, timeoutMs: READ_TIMEOUT_MS }),
    ])
    return { isReachable: true, sources, releases, clusters, stopped: stoppedIn(leases.items) }
  } catch {
    return { isReachable: false, sources: [], releases: [] }
  }
}

export async function observeFleet(hub: KubeClient, clusters: ReadonlyMap<string, KubeClient>): Promise<FleetSeen> {
  const [hubState, ...rest] = await Promise.all([
    hubSeen(hub),
    ...[...clusters].map(([name, client]) => seenOf(name, client)),
  ])
  return { at: systemClock.now(), hub: hubState, clusters: rest }
}

/** Data of the summary, kept up to date by watches: listing everything twice a second would cost more than the fleet itself. */
export interface FleetView {
  /** Reads these clusters from now on. */
  seen(clusters: ReadonlyMap<string, KubeClient>): Promise<FleetSeen>
  stop(): Promise<void>
}

export function watchFleet(hub: KubeClient): FleetView {
  const ofHub = new Watched(hub, (cacheOf) => ({
    sources: cacheOf(fleetSource),
    releases: cacheOf(release),
    clusters: cacheOf(cluster),
    leases: cacheOf(leaseType, { namespace: SYSTEM_NAMESPACE }),
  }))
  const business = new Map<KubeClient, ReturnType<typeof watchBusiness>>()
  const stopping = new Set<Promise<void>>()
  function follow(clusters: ReadonlyMap<string, KubeClient>): void {
    const wanted = new Set(clusters.values())
    for (const [client, watched] of business)
      if (!wanted.has(client)) {
        business.delete(client)
        const stopped: Promise<void> = watched.stop().finally(() => stopping.delete(stopped))
        stopping.add(stopped)
      }
    for (const client of wanted) if (!business.has(client)) business.set(client, watchBusiness(client))
  }
  return {
    seen: async (clusters) => {
      follow(clusters)
      const { sources, releases, clusters: declared, leases } = ofHub.caches
      return {
        at: systemClock.now(),
        hub: {
          isReachable: await ofHub.answers(),
          sources: sources.store.list(),
          releases: releases.store.list(),
          clusters: declared.store.list(),
          stopped: stoppedIn(leases.store.list()),
        },
        clusters: await Promise.all(
          [...clusters].flatMap(([name, client]) => {
            const watched = business.get(client)
            return watched === undefined ? [] : [businessSeen(name, watched)]
          }),
        ),
      }
    },
    stop: async () => {
      await Promise.all([ofHub, ...business.values()].map((w) => w.stop()))
      await Promise.all(stopping)
    },
  }
}

const watchBusiness = (client: KubeClient) =>
  new Watched(client, (cacheOf) => ({
    machines: cacheOf(machine),
    machineSets: cacheOf(machineSet),
    sets: cacheOf(machineComponentSet),
    jobs: cacheOf(remedyOperationJob),
    remediers: cacheOf(nodeRemedier),
    leases: cacheOf(leaseType, { namespace: SYSTEM_NAMESPACE }),
  }))

async function businessSeen(name: string, watched: ReturnType<typeof watchBusiness>): Promise<ClusterSeen> {
  const { machines, machineSets, sets, jobs, remediers, leases } = watched.caches
  return {
    name,
    isReachable: await watched.answers(),
    machines: machines.store.list(),
    machineSets: machineSets.store.list(),
    sets: sets.store.list(),
    jobs: jobs.store.list(),
    remediers: remediers.store.list(),
    lastHeartbeats: lastHeartbeatsOf(machines.store.list(), leases.store.list()),
    stopped: stoppedIn(leases.store.list()),
  }
}

type CacheOf = <T extends KubeObject>(type: ResourceType<T>, selection?: Selection) => Informer<T>

/** The caches of one cluster, and whether its server answers: a cache outlives its server and is empty before its first list. */
class Watched<C extends Readonly<Record<string, { readonly isSynced: boolean }>>> {
  readonly caches: C
  readonly #client: KubeClient
  readonly #stop = new AbortController()
  readonly #running: Promise<void>[] = []
  #answered: { readonly at: number; readonly isUp: boolean } | undefined

  constructor(client: KubeClient, make: (cacheOf: CacheOf) => C) {
    this.#client = client
    this.caches = make((type, selection = {}) => {
      const informer = createInformer({
        client,
        type,
        selection,
        clock: systemClock,
        random: systemRandom,
        startSpreadMs: 0,
      })
      this.#running.push(informer.run(this.#stop.signal))
      return informer
    })
  }

  async answers(): Promise<boolean> {
    const now = systemClock.monotonic()
    const known = this.#answered
    const isKnown = known?.isUp === true && now - known.at < ANSWER_COUNTS_MS
    const isUp = isKnown || (await isServing(this.#client))
    if (!isKnown) this.#answered = { at: now, isUp }
    return isUp && Object.values(this.caches).every((c) => c.isSynced)
  }

  async stop(): Promise<void> {
    this.#stop.abort()
    await Promise.all(this.#running)
  }
}

const isServing = (client: KubeClient): Promise<boolean> =>
  client.raw({ method: 'GET', path: '/readyz', timeoutMs: READ_TIMEOUT_MS }).then(
    ({ status }) => status === 200,
    () => false,
  )
