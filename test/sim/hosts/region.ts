// A region of a cloud from end to end: a pool is added, its hosts are created and join, a zone runs out of hosts, a spot host is reclaimed. Agents do no more than
// join and report; controllers die and the cloud fails throughout.
import { type MachineSet, machineSet } from '#api/kinds/machine-set.ts'
import type { Machine } from '#api/kinds/machine.ts'
import { joinHosts, machinesIn } from '#test/doubles/node/joining-hosts.ts'
import { type FaultyCloud, keyOf } from '#test/doubles/providers/faulty-cloud.ts'
import type { Simulation } from '../harness.ts'
import type { World } from '../world.ts'
import { FAULTS, cloudControllers, hostKinds, storm } from './simulation.ts'

const SET = 'workers'
const POOL = { pool: 'workers' }
const SPOT = { zone: 'a', type: 'large', market: 'Spot' } as const
const OTHER = { zone: 'b', type: 'large' }

const hostOf = (cloud: FaultyCloud, m: Machine) => cloud.living().find((h) => h.machineUid === m.metadata.uid)

function addPool(world: World, cloud: FaultyCloud, replicas: number): void {
  cloud.stock.set(keyOf(SPOT), Math.floor(replicas / 2))
  cloud.stock.set(keyOf(OTHER), 10 * replicas)
  joinHosts(world, () => new Set(cloud.living().map((h) => h.machineUid)))
  world.fake.plant(machineSet, {
    apiVersion: 'kubenode.io/v1alpha1',
    kind: 'MachineSet',
    metadata: { name: SET },
    spec: {
      replicas,
      selector: { matchLabels: POOL },
      template: { metadata: { labels: POOL }, spec: { provider: { name: 'cloud', offerings: [SPOT, OTHER] } } },
    },
  })
}

const isSpot = (h: { readonly offering?: { readonly market?: string } }): boolean => h.offering?.market === 'Spot'

/** The zone has none left for its replacement. */
function reclaim(cloud: FaultyCloud): void {
  const [first] = cloud
    .living()
    .filter(isSpot)
    .toSorted((a, b) => (a.machine < b.machine ? -1 : 1))
  if (first !== undefined) cloud.lose(first.providerID)
}

function state(world: World, cloud: FaultyCloud): unknown {
  const set = world.fake.peek(machineSet, { name: SET }) as MachineSet | undefined
  const machines = machinesIn(world)
  const hosts = cloud.living()
  const isMade = (m: Machine) => hostOf(cloud, m)?.providerID === m.spec.providerID
  return {
    ready: set?.status?.readyReplicas,
    machines: machines.length,
    withTheirHost: machines.filter(isMade).length,
    hosts: hosts.length,
    spot: hosts.filter(isSpot).length,
    violations: cloud.violations,
  }
}

export function regionSimulation(size: number): Simulation {
  const { actor, cloud, begin } = cloudControllers()
  const more = Math.ceil(size * 1.25)
  const phases = [
    { name: 'a pool is added', act: (world: World) => addPool(world, cloud(), size) },
    {
      name: 'a zone has no spot hosts left, and the pool grows',
      act: (world: World) => void world.fake.poke(machineSet, { name: SET }, { spec: { replicas: more } }),
    },
    { name: 'a spot host is reclaimed', act: () => reclaim(cloud()) },
  ]
  return {
    kinds: hostKinds,
    faults: FAULTS,
    actors: () => {
      begin()
      return [actor]
    },
    phases: phases.map(({ name, act }) => ({
      name,
      act: (world) => {
        storm(world, cloud(), { callsPerMinute: size, bucket: Math.ceil(size / 4) })
        act(world)
      },
    })),
    invariants: { oneHostEach: () => cloud().violations[0] },
    counted: [],
    heartbeats: ['coordination.k8s.io/leases', '/secrets'],
    state: (world) => state(world, cloud()),
    settleMs: 600_000,
    restMs: 30_000,
  }
}
