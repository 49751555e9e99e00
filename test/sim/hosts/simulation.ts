// The scenario: machines get hosts from a cloud that does everything a cloud does, the set grows, a host is lost, the set shrinks and ends. In the end each machine
// has exactly one host, and no host is without a machine; at no time has a machine two.
import { KINDS } from '#api/kinds.ts'
import { type MachineSet, machineSet } from '#api/kinds/machine-set.ts'
import { type Machine, machine as machineType } from '#api/kinds/machine.ts'
import { seededRandom } from '#lib/random.ts'
import { approverModule } from '#controllers/approver/reconcile.ts'
import { machineModule } from '#controllers/machine/reconcile.ts'
import { machineSetModule } from '#controllers/machineset/reconcile.ts'
import type { ControllerModule } from '#controllers/module.ts'
import type { Provider } from '#providers/port.ts'
import { createInformers } from '#runtime/informers.ts'
import { createMetrics } from '#runtime/metrics.ts'
import type { FakeKind } from '#test/doubles/kube/kinds.ts'
import { type CloudTrouble, FaultyCloud, NO_TROUBLE, STORM, keyOf } from '#test/doubles/providers/faulty-cloud.ts'
import type { Phase, Simulation } from '../harness.ts'
import type { Actor } from '../process.ts'
import type { FaultKind } from '../sim-faults.ts'
import type { World } from '../world.ts'

export const hostKinds: readonly FakeKind[] = KINDS.map((k) => ({
  type: k,
  schema: k.schema,
  status: k.definition.status !== undefined,
}))

const PROVIDER = 'cloud'
const SET = 'workers'
const POOL = { pool: 'workers' }
const SPOT = { zone: 'a', type: 'large', market: 'Spot' } as const
const LARGE = { zone: 'a', type: 'large' }
const SMALL = { zone: 'b', type: 'small' }

const STORM_MS = 20_000
const RELABELS = 5
const RELABEL_MS = 4_000
/** No list comes whole for longer: until it is decided whether a host that is not shown exists. */
const LISTS_MS = 90_000
/** Two times the longest backoff of an unknown answer, and the time until an absent host is known to be absent. */
const SETTLE_MS = 600_000

export interface HostScenario {
  readonly modules?: readonly ControllerModule[]
  readonly provider?: (provider: Provider) => Provider
  readonly faults?: readonly FaultKind[]
  readonly only?: readonly string[]
  /** Worse than the usual storm. */
  readonly trouble?: Partial<CloudTrouble>
}

/** The cloud outlives every process of a run. */
function controllers(
  modules: readonly ControllerModule[],
  begun: (make: () => FaultyCloud) => FaultyCloud,
  through: (p: Provider) => Provider,
): Actor {
  return {
    name: 'controllers',
    start: ({ client, cacheClient, clock, random, log, signal }) => {
      const cloud = begun(() => stocked(new FaultyCloud(clock, seededRandom(random.below(2 ** 30)))))
      const informers = createInformers({ client: cacheClient, clock, random, log })
      const context = {
        client,
        informers,
        clock,
        random,
        log,
        metrics: createMetrics(),
        events: { record: () => undefined, flush: async () => undefined },
        config: {
          cluster: 'sim',
          providers: { [PROVIDER]: through(cloud.provider(PROVIDER, clock)) },
          join: {
            server: 'https://api',
            caData: 'Q0E=',
            artifactBase: 'file:///a/',
            trust: { sequence: 1, threshold: 1, keys: [] },
          },
        },
      }
      for (const module of [approverModule, ...modules]) {
        const running = module.setup(context)
        for (const c of running.controllers) c.start()
        for (const part of running.parts ?? []) void part.start(signal)
      }
      informers.start()
    },
  }
}

const machinesOf = (world: World): readonly Machine[] => world.fake.all(machineType) as readonly Machine[]

const scale = (replicas: number) => (world: World) =>
  void world.fake.poke(machineSet, { name: SET }, { spec: { replicas } })

function create(world: World): void {
  const provider = { name: PROVIDER, offerings: [SPOT, LARGE, SMALL] }
  world.fake.plant(machineSet, {
    apiVersion: 'kubenode.io/v1alpha1',
    kind: 'MachineSet',
    metadata: { name: SET },
    spec: {
      replicas: 4,
      selector: { matchLabels: POOL },
      template: { metadata: { labels: POOL }, spec: { provider, pool: 'workers' } },
    },
  })
}

/** Machines go whose call was not answered yet. */
function changeMind(world: World): void {
  scale(6)(world)
  world.clock.after(4_000, () => scale(3)(world))
}

function stocked(cloud: FaultyCloud): FaultyCloud {
  cloud.stock.set(keyOf(SPOT), 1)
  cloud.stock.set(keyOf(LARGE), 2)
  cloud.stock.set(keyOf(SMALL), 100)
  return cloud
}

function loseOne(cloud: FaultyCloud): void {
  const [first] = cloud.living().toSorted((a, b) => (a.machine < b.machine ? -1 : 1))
  if (first !== undefined) cloud.lose(first.providerID)
}

/** From before its host was made: the Machine knows of no attempt and of no host, and an offering that was exhausted then has hosts again. */
function restoreBackup(world: World, cloud: FaultyCloud): void {
  cloud.stock.set(keyOf(SPOT), 5)
  const [first] = machinesOf(world).toSorted((a, b) => ((a.metadata.name ?? '') < (b.metadata.name ?? '') ? -1 : 1))
  if (first === undefined) return
  const { providerID: _, ...spec } = first.spec
  const { provisioning: __, ...status } = first.status ?? {}
  world.fake.restore(machineType, { ...first, spec, status })
}

/** Each time every machine is reconciled, and its host read, while the cloud lies. */
function relabel(world: World): void {
  for (let i = 0; i < RELABELS; i++)
    world.clock.after(i * RELABEL_MS, () => {
      for (const { metadata } of machinesOf(world))
        world.fake.poke(machineType, { name: metadata.name ?? '' }, { metadata: { labels: { look: `${i}` } } })
    })
}

const phases = (cloud: () => FaultyCloud): readonly Phase[] => [
  { name: 'create', act: create },
  { name: 'grow', act: scale(7) },
  { name: 'labels of the machines change', act: relabel },
  { name: 'a host is lost before it joined', act: () => loseOne(cloud()) },
  { name: 'shrink', act: scale(3) },
  { name: 'a backup is restored', act: (world) => restoreBackup(world, cloud()) },
  { name: 'a change of mind while hosts are being made', act: changeMind },
  { name: 'to nothing', act: scale(0) },
]

function state(world: World, cloud: FaultyCloud): unknown {
  const set = world.fake.peek(machineSet, { name: SET }) as MachineSet | undefined
  const machines = machinesOf(world)
  const hosts = cloud.living()
  return {
    replicas: set?.status?.replicas,
    machines: machines.map((m) => {
      const own = hosts.filter((h) => h.machineUid === m.metadata.uid)
      // The attempt of a Machine from a backup is not known any more.
      const { token = own[0]?.clientToken } = m.status?.provisioning ?? {}
      const isNamed = own[0]?.providerID === m.spec.providerID && own[0]?.clientToken === token
      return `${m.status?.phase} with ${own.length} hosts${isNamed ? '' : ', another one is written down'}`
    }),
    violations: cloud.violations,
    orphans: hosts.filter((h) => !machines.some((m) => m.metadata.uid === h.machineUid)).length,
  }
}

export interface CloudLimits {
  readonly callsPerMinute: number
  readonly bucket: number
}

const LIMITS: CloudLimits = { callsPerMinute: 12, bucket: 5 }

/** The cloud fails for as long as other faults happen in a phase, and is short of everything but the last offering. */
export function storm(
  { clock }: World,
  cloud: FaultyCloud,
  { callsPerMinute, bucket }: CloudLimits = LIMITS,
  trouble: Partial<CloudTrouble> = {},
): void {
  cloud.trouble = { ...STORM, ...trouble }
  cloud.liesAgain()
  cloud.callsPerMinute = callsPerMinute
  cloud.bucket = bucket
  clock.after(STORM_MS, () => {
    cloud.trouble = { ...NO_TROUBLE, brokenLists: 1 }
    cloud.callsPerMinute = Number.POSITIVE_INFINITY
    cloud.bucket = Number.POSITIVE_INFINITY
  })
  clock.after(LISTS_MS, () => void (cloud.trouble = NO_TROUBLE))
}

/** Without jumps of the wall clock: a machine that waits while it is set back rewrites since when, once, at any later time. */
export const FAULTS: readonly FaultKind[] = [
  'Crash',
  'LostReply',
  'Refuse',
  'Stale',
  'TimeTravel',
  'Unobserved',
  'Events',
  'Missed',
  'Partition',
  'Pause',
]

/** One actor, and the cloud of the present run. */
export function cloudControllers(
  modules: readonly ControllerModule[] = [machineModule, machineSetModule],
  through: (p: Provider) => Provider = (p) => p,
) {
  let made: FaultyCloud | undefined
  const cloud = (): FaultyCloud => {
    if (made === undefined) throw new Error('the cloud begins with the controllers')
    return made
  }
  const actor = controllers(modules, (make) => (made ??= make()), through)
  return { actor, cloud, begin: () => void (made = undefined) }
}

export function hostSimulation({
  modules = [machineModule, machineSetModule],
  provider = (p) => p,
  faults = FAULTS,
  only,
  trouble,
}: HostScenario = {}): Simulation {
  const { actor, cloud: current, begin } = cloudControllers(modules, provider)
  return {
    kinds: hostKinds,
    faults,
    actors: () => {
      begin()
      return [actor]
    },
    phases: phases(current)
      .filter((p) => only?.includes(p.name) ?? true)
      .map(({ name, act }) => ({
        name,
        act: (world) => {
          storm(world, current(), LIMITS, trouble)
          act(world)
        },
      })),
    invariants: { oneHostEach: () => current().violations[0] },
    counted: [],
    state: (world) => state(world, current()),
    settleMs: SETTLE_MS,
    // They never join: their tokens are renewed for ever.
    heartbeats: ['/secrets'],
    restMs: 60_000,
  }
}
