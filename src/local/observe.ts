// Reads what the summary shows, once or as it changes. A cluster that does not answer is a finding, not an error.
import { fleetSource } from '#api/kinds/fleet-source.ts'
import { machineComponentSet } from '#api/kinds/machine-component-set.ts'
import { machineSet } from '#api/kinds/machine-set.ts'
import { type Machine, machine } from '#api/kinds/machine.ts'
import { nodeRemedier } from '#api/kinds/node-remedier.ts'
import { release } from '#api/kinds/release.ts'
import { remedyOperationJob } from '#api/kinds/remedy-operation-job.ts'
import { agentLeaseName, SYSTEM_NAMESPACE } from '#api/names.ts'
import type { KubeClient } from '#kube/client.ts'
import { createInformer } from '#kube/informer.ts'
import type { Selection } from '#kube/reflector.ts'
import { systemClock } from '#lib/clock.ts'
import { systemRandom } from '#lib/random.ts'
import { type Lease, lapsedAt, leaseType } from '#runtime/lease.ts'
import type { KubeObject } from '#schema/object.ts'
import type { ResourceType } from '#schema/resource.ts'
import type { ClusterSeen, FleetSeen, HubSeen, StoppedProgram } from './summary.ts'

const READ_TIMEOUT_MS = 3_000
/** How long an answer of a server counts; its caches tell everything else sooner. */
const ANSWER_COUNTS_MS = 2_000

/** Those with a leader. */
const LED_ROLES = ['sync', 'controllers', 'approver', 'defender'] as const

const all = async <T extends KubeObject>(client: KubeClient, type: ResourceType<T>): Promise<readonly T[]> =>
  (await client.list(type, { timeoutMs: READ_TIMEOUT_MS })).items

function heardOf(machines: readonly Machine[], leases: readonly Lease[]): ReadonlyMap<string, number> {
  const renewed = new Map(leases.map((l) => [l.metadata.name, Date.parse(l.spec?.renewTime ?? '') || 0]))
  return new Map(machines.map(({ metadata: { name = '' } }) => [name, renewed.get(agentLeaseName(name)) ?? 0]))
}

/** Of the local fleet everything is on this machine, with one clock. */
function stoppedIn(leases: readonly Lease[]): readonly StoppedProgram[] {
  const now = systemClock.now()
  return leases.flatMap((lease) => {
    const program = LED_ROLES.find((role) => lease.metadata.name === `kubenode-${role}`)
    const since = program === undefined ? undefined : lapsedAt(lease, now)
    return program === undefined || since === undefined ? [] : [{ name: program, forMs: now - since }]
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
      heard: heardOf(machines, leases.items),
      stopped: stoppedIn(leases.items),
    }
  } catch {
    return { name, isReachable: false, machines: [], machineSets: [], sets: [], jobs: [], heard: new Map() }
  }
}

async function hubSeen(client: KubeClient): Promise<HubSeen> {
  try {
    const [sources, releases, leases] = await Promise.all([
      all(client, fleetSource),
      all(client, release),
      client.list(leaseType, { namespace: SYSTEM_NAMESPACE, timeoutMs: READ_TIMEOUT_MS }),
    ])
    return { isReachable: true, sources, releases, stopped: stoppedIn(leases.items) }
  } catch {
    return { isReachable: false, sources: [], releases: [] }
  }
}

export async function observeFleet(hub: KubeClient, clusters: ReadonlyMap<string, KubeClient>): Promise<FleetSeen> {
  const [hubState, ...rest] = await Promise.all([
    hubSeen(hub),
    ...[...clusters].map(([name, client]) => seenOf(name, client)),
  ])
  return { hub: hubState, clusters: rest }
}

/** What the summary shows, kept up to date by watches: lists of everything twice a second cost more than the fleet itself. */
export interface FleetView {
  seen(): Promise<FleetSeen>
  stop(): Promise<void>
}

export function watchFleet(hub: KubeClient, clusters: ReadonlyMap<string, KubeClient>): FleetView {
  const stop = new AbortController()
  const running: Promise<void>[] = []
  const cacheOf = <T extends KubeObject>(client: KubeClient, type: ResourceType<T>, selection: Selection = {}) => {
    const options = { client, type, selection, clock: systemClock, random: systemRandom, startSpreadMs: 0 }
    const informer = createInformer<T>(options)
    running.push(informer.run(stop.signal))
    return informer
  }
  const answered = new Map<KubeClient, { readonly at: number; readonly isUp: boolean }>()
  /** A cache outlives its server, and is empty before its first list. */
  async function answers(client: KubeClient, caches: readonly { readonly isSynced: boolean }[]): Promise<boolean> {
    const known = answered.get(client)
    const now = systemClock.monotonic()
    const isKnown = known?.isUp === true && now - known.at < ANSWER_COUNTS_MS
    const isUp = isKnown || (await isServing(client))
    if (!isKnown) answered.set(client, { at: now, isUp })
    return isUp && caches.every((c) => c.isSynced)
  }
  const ofHub = {
    sources: cacheOf(hub, fleetSource),
    releases: cacheOf(hub, release),
    leases: cacheOf(hub, leaseType, { namespace: SYSTEM_NAMESPACE }),
  }
  const business = [...clusters].map(([name, client]) => ({
    name,
    client,
    machines: cacheOf(client, machine),
    machineSets: cacheOf(client, machineSet),
    sets: cacheOf(client, machineComponentSet),
    jobs: cacheOf(client, remedyOperationJob),
    remediers: cacheOf(client, nodeRemedier),
    leases: cacheOf(client, leaseType, { namespace: SYSTEM_NAMESPACE }),
  }))
  return {
    seen: async () => ({
      hub: {
        isReachable: await answers(hub, Object.values(ofHub)),
        sources: ofHub.sources.store.list(),
        releases: ofHub.releases.store.list(),
        stopped: stoppedIn(ofHub.leases.store.list()),
      },
      clusters: await Promise.all(
        business.map(async ({ name, client, ...caches }) => ({
          name,
          isReachable: await answers(client, Object.values(caches)),
          machines: caches.machines.store.list(),
          machineSets: caches.machineSets.store.list(),
          sets: caches.sets.store.list(),
          jobs: caches.jobs.store.list(),
          remediers: caches.remediers.store.list(),
          heard: heardOf(caches.machines.store.list(), caches.leases.store.list()),
          stopped: stoppedIn(caches.leases.store.list()),
        })),
      ),
    }),
    stop: async () => {
      stop.abort()
      await Promise.all(running)
    },
  }
}

const isServing = (client: KubeClient): Promise<boolean> =>
  client.raw({ method: 'GET', path: '/readyz', timeoutMs: READ_TIMEOUT_MS }).then(
    ({ status }) => status === 200,
    () => false,
  )
