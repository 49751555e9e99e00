// A region of a cloud from end to end: a pool is added, its hosts are created and join, a zone runs out of hosts, a spot host is reclaimed. Agents do no more than
// join and report; controllers die and the cloud fails throughout.
import { type MachineSet, machineSet } from '#api/kinds/machine-set.ts'
import { type Machine, machine as machineType } from '#api/kinds/machine.ts'
import { SYSTEM_NAMESPACE, TAINTS, agentLeaseName } from '#api/names.ts'
import { microTimestamp, timestamp } from '#lib/clock.ts'
import { isNodeReady, nodeType } from '#nodes/objects.ts'
import { leaseType } from '#runtime/lease.ts'
import { type FaultyCloud, keyOf } from '#test/doubles/providers/faulty-cloud.ts'
import type { Simulation } from '../harness.ts'
import { every } from '../machines/surroundings.ts'
import type { World } from '../world.ts'
import { FAULTS, cloudControllers, hostKinds, storm } from './simulation.ts'

const SET = 'workers'
const POOL = { pool: 'workers' }
const SPOT = { zone: 'a', type: 'large', market: 'Spot' } as const
const OTHER = { zone: 'b', type: 'large' }
const JOIN_LOOK_MS = 5_000
const BEAT_MS = 20_000

const machinesOf = (world: World): readonly Machine[] => world.fake.all(machineType) as readonly Machine[]
const nameOf = (m: Machine): string => m.metadata.name ?? ''
const hostOf = (cloud: FaultyCloud, m: Machine) => cloud.living().find((h) => h.machineUid === m.metadata.uid)

function join(world: World, m: Machine): void {
  const { fake, clock } = world
  const name = nameOf(m)
  const lease = { namespace: SYSTEM_NAMESPACE, name: agentLeaseName(name) }
  if (m.metadata.deletionTimestamp !== undefined || m.spec.providerID === undefined) return
  if (fake.peek(nodeType, { name }) === undefined) {
    const taints = [{ key: TAINTS.componentsPending, effect: 'NoSchedule' }]
    fake.plant(nodeType, { apiVersion: 'v1', kind: 'Node', metadata: { name }, spec: { taints } })
    const at = timestamp(clock.now())
    const ready = { type: 'Ready', status: 'True', reason: 'Up', message: '', lastTransitionTime: at }
    fake.poke(nodeType, { name }, { status: { conditions: [ready] } }, 'status')
  }
  const spec = { renewTime: microTimestamp(clock.now()) }
  if (fake.peek(leaseType, lease) === undefined)
    fake.plant(leaseType, { apiVersion: 'coordination.k8s.io/v1', kind: 'Lease', metadata: lease, spec })
}

function beat({ fake, clock }: World, m: Machine): void {
  const key = { namespace: SYSTEM_NAMESPACE, name: agentLeaseName(nameOf(m)) }
  if (fake.peek(leaseType, key) !== undefined)
    fake.poke(leaseType, key, { spec: { renewTime: microTimestamp(clock.now()) } })
}

/** What a controller manager does with a Node whose kubelet it does not hear. */
function silence({ fake, clock }: World, m: Machine): void {
  const key = { name: nameOf(m) }
  const node = fake.peek(nodeType, key)
  if (node === undefined || !isNodeReady(node)) return
  const at = timestamp(clock.now())
  const unknown = { type: 'Ready', status: 'Unknown', reason: 'NodeStatusUnknown', message: '', lastTransitionTime: at }
  fake.poke(nodeType, key, { status: { conditions: [unknown] } }, 'status')
}

function surround(world: World, cloud: FaultyCloud): void {
  const each = (act: (m: Machine, isUp: boolean) => void) => {
    const up = new Set(cloud.living().map((h) => h.machineUid))
    for (const m of machinesOf(world)) act(m, up.has(m.metadata.uid ?? ''))
  }
  every(world, JOIN_LOOK_MS, () => each((m, isUp) => (isUp ? join(world, m) : silence(world, m))))
  every(world, BEAT_MS, () => each((m, isUp) => isUp && beat(world, m)))
}

function addPool(world: World, cloud: FaultyCloud, replicas: number): void {
  cloud.stock.set(keyOf(SPOT), Math.floor(replicas / 2))
  cloud.stock.set(keyOf(OTHER), 10 * replicas)
  surround(world, cloud)
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
  const machines = machinesOf(world)
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
