// The ground of every rollout story: machines at rest, their Nodes and Leases, hollow agents on them, the real controllers and the real Defender.
import { isFull } from '#test/support/tools/full.ts'
import { componentCanary } from '#api/kinds/component-canary.ts'
import { KINDS } from '#api/kinds.ts'
import { defenderPolicy } from '#api/kinds/defender-policy.ts'
import { machineComponent } from '#api/kinds/machine-component.ts'
import { machineComponentSet } from '#api/kinds/machine-component-set.ts'
import { machine as machineType } from '#api/kinds/machine.ts'
import { type HoldEffect, operationalHold } from '#api/kinds/operational-hold.ts'
import { API_GROUP_VERSION } from '#api/kind.ts'
import { FINALIZERS, SYSTEM_NAMESPACE, agentLeaseName } from '#api/names.ts'
import type { HollowFaults } from '#agent/hollow/faults.ts'
import { HollowFleet } from '#agent/hollow/fleet.ts'
import { canaryModule } from '#controllers/canary/reconcile.ts'
import { type Parts, setup as setupSets } from '#controllers/componentset/reconcile.ts'
import { approverModule } from '#controllers/approver/reconcile.ts'
import { machineModule } from '#controllers/machine/reconcile.ts'
import type { ControllerModule } from '#controllers/module.ts'
import { createCaches } from '#defender/caches.ts'
import { DefenderLoop } from '#defender/loop.ts'
import type { FakeKube } from '#test/doubles/kube/fake-kube.ts'
import type { FakeKind } from '#test/doubles/kube/kinds.ts'
import { type Clock, microTimestamp, timestamp } from '#lib/clock.ts'
import { nodeType } from '#nodes/objects.ts'
import { type MemoryHost, MemoryProvider } from '#test/doubles/providers/memory-provider.ts'
import { createInformers } from '#runtime/informers.ts'
import { type Lease, leaseType } from '#runtime/lease.ts'
import { createMetrics } from '#runtime/metrics.ts'
import {
  BAD,
  GOOD,
  POOL,
  component,
  componentSet,
  condition,
  holdOf,
  readyNode,
  workingMachine,
} from '#test/support/fleets/rollout-fleet.ts'
import { VIRTUAL_EPOCH_MS } from '#test/support/clocks/virtual-clock.ts'
import type { Actor } from '../process.ts'
import type { BootLoaders } from './kernels.ts'
import { Reboots } from './reboots.ts'
import type { World } from '../world.ts'
import { type Rested, restedCopy } from './rested.ts'

export interface Scale {
  readonly machines: number
  /** So many are behind where a story begins: enough to go through every step, few enough that a thousand seeds end. */
  readonly some: number
  /** So many may be down; less than the last step of a story wants. */
  readonly limit: number
  /** The last one is repeated. */
  readonly steps: readonly number[]
}

export const FULL_SCALE: Scale = { machines: 200, some: 60, limit: 20, steps: [1, 5, 20, 100] }
/** For texts that people compare: every step of the ladder still has machines. */
export const LOG_SCALE: Scale = { machines: 24, some: 14, limit: 4, steps: [1, 3, 6, 100] }
/** For the quick run, planted bugs, and replays with real processes, many at once on one server. */
export const SMALL_SCALE: Scale = { machines: 6, some: 5, limit: 2, steps: [1, 5, 20, 100] }
/** For a crash around every single write. */
export const TINY_SCALE: Scale = { machines: 3, some: 3, limit: 1, steps: [1, 100] }
export const SEED_SCALE: Scale = isFull ? FULL_SCALE : SMALL_SCALE

/** What a story needs of the world; the simulator's is one, a cluster of real processes is another. */
export interface Stage {
  readonly seed: number
  readonly clock: Pick<Clock, 'now' | 'after'>
  readonly fake: Pick<FakeKube, 'plant' | 'poke' | 'uproot' | 'peek'>
}

export const SET = 'base'
const OTHERS = { 'kubenode.io/pool': 'others' }
/** Between two renewals of a Lease; the controllers call 40 s silence. */
const BEAT_MS = 30_000
/** A machine that was well this long ago has rested. */
const LONG_AGO_MS = 3_600_000
/** Grants within a minute: above what a clean ladder takes, below what a runaway would. */
export const RATE = 160

export const kinds: readonly FakeKind[] = KINDS.map((k) => ({
  type: k,
  schema: k.schema,
  // Thousands of writes a run: what they hold is checked elsewhere; here the schema says how fields merge.
  mergeOnly: k.kind === 'Machine',
  status: k.definition.status !== undefined,
}))

class Hosts extends Map<string, MemoryHost> {
  readonly #gone: (machine: string) => void

  constructor(gone: (machine: string) => void) {
    super()
    this.#gone = gone
  }

  override delete(providerID: string): boolean {
    const host = this.get(providerID)
    if (host !== undefined) this.#gone(host.machine)
    return super.delete(providerID)
  }
}

/** What the agents of one run are up to; the stories change it. */
export class Agents {
  readonly scale: Scale
  /** With the host goes the agent. */
  readonly hosts = new Hosts((machine) => void this.fleet?.remove(machine))
  /** Whose reports are lies: they call healthy what they never switched. */
  readonly liars = new Set<string>()
  readonly slow = new Set<string>()
  readonly silent = new Set<string>()
  /** Reports that were not true. */
  lies = 0
  fleet: (Pick<HollowFleet, 'node' | 'add' | 'remove'> & Partial<Pick<HollowFleet, 'reboot'>>) | undefined
  readonly reboots = new Reboots()
  /** Where versions are kernels. */
  kernels: BootLoaders | undefined

  constructor(scale: Scale) {
    this.scale = scale
  }

  silence(names: Iterable<string>): void {
    for (const name of names) {
      this.silent.add(name)
      this.fleet?.node(name)?.silence()
    }
  }

  honest(): void {
    const liars = [...this.liars]
    this.liars.clear()
    for (const name of liars) this.fleet?.node(name)?.noteAnswer()
  }

  hearAll(): void {
    for (const name of this.silent) this.fleet?.node(name)?.noteAnswer()
    this.silent.clear()
  }
}

const SLOW_MS = 4_000

export const faultsOf = (agents: Agents): HollowFaults => ({
  behavior: (m, __, version) => (version === BAD || agents.reboots.isOldKernelFor(m, version) ? 'ProbeFails' : 'Works'),
  stageMs: (m) => (agents.slow.has(m) ? SLOW_MS : 0),
  // All is well with what was asked for, it says, and does nothing.
  report: (m, truth) => {
    if (!agents.liars.has(m) || truth.state === 'Healthy') return truth
    agents.lies++
    return { ...truth, state: 'Healthy' }
  },
})

export const agentsActor = (agents: Agents): Actor => ({
  name: 'agents',
  isFaulty: false,
  start: ({ client, clock, random, log, signal }) => {
    const fleet = new HollowFleet({
      client,
      clock,
      random,
      log,
      version: '0.0.0',
      registerNodes: false,
      faults: faultsOf(agents),
      reboot: async (machine) => agents.reboots.request(machine),
      os: (machine) => agents.kernels?.port(machine),
    })
    agents.fleet = fleet
    agents.reboots.begin(agents, clock)
    void fleet.run(signal)
    for (let i = 0; i < agents.scale.machines; i++) fleet.add(nameOf(i), 'boot')
  },
})

export interface ControllerParts {
  readonly sets?: Parts
  readonly machine?: ControllerModule
}

export const controllersActor = (
  agents: Agents,
  { sets = {}, machine = machineModule }: ControllerParts = {},
): Actor => ({
  name: 'controllers',
  start: ({ client, cacheClient, clock, random, log, signal }) => {
    const informers = createInformers({ client: cacheClient, clock, random, log, startSpreadMs: 1 })
    const provider = agents.reboots.provider(new MemoryProvider({ clock, name: 'hollow', hosts: agents.hosts }))
    const context = {
      client,
      informers,
      clock,
      random,
      log,
      metrics: createMetrics(),
      events: { record: () => undefined, flush: () => Promise.resolve() },
      config: {
        cluster: 'sim',
        providers: { hollow: provider },
        join: { server: '', caData: '', artifactBase: '', trust: { sequence: 1, threshold: 1, keys: [] } },
      },
    }
    const running = [
      approverModule.setup(context),
      machine.setup(context),
      canaryModule.setup(context),
      setupSets(context, sets),
    ]
    informers.start()
    // As a role does that begins to lead: its caches are warm by then.
    const begin = () => running.forEach(({ controllers }) => controllers.forEach((c) => c.start()))
    void informers.synced(signal).then(begin)
  },
})

export const defenderActor = (): Actor => ({
  name: 'defender',
  start: ({ client, cacheClient, clock, random, log, signal, life }) => {
    const informers = createInformers({ client: cacheClient, clock, random, log, startSpreadMs: 0 })
    const caches = createCaches(informers, { withClusters: false })
    const identity = `defender-${life}`
    const serverNow = () => VIRTUAL_EPOCH_MS + clock.monotonic()
    const loop = new DefenderLoop({ client, caches, clock, random, log, identity, cluster: undefined, serverNow })
    informers.start()
    void informers.synced(signal).then(() => loop.start())
  },
})

export const nameOf = (i: number): string => `m-${String(i).padStart(3, '0')}`
const classOf = (i: number): string => `c-${i % 3}`
export const zoneOf = (i: number): string => `z-${i % 4}`

/** One that a hollow agent can fetch, run and probe. */
export const definition = (version: string, name = 'beacon') =>
  component(name, version, {
    artifacts: [{ os: 'linux', arch: 'any', url: `${name}-${version}.tar`, sha256: '0'.repeat(64), size: 1 }],
    install: { unpack: { path: `/opt/${name}` } },
    service: { exec: `/opt/${name}/${name}`, restart: 'Always', killMode: 'Process' },
    // At rest a probe costs a timer: one probe per run is enough.
    probes: [{ name: 'http', http: { port: 1, path: '/' }, interval: '1h', timeout: '1s', settle: '1s' }],
  })

export const setSpec = (declared: string, { limit, steps }: Scale) =>
  componentSet({ beacon: declared }, { steps, maxUnavailable: limit, soak: '1s', spread: ['class', 'zone'] }).spec

export interface Start {
  /** What the set declares. */
  readonly declared?: string
  /** So many machines have 1.0.0, the rest has what is declared. */
  readonly outdated?: number
  /** This many machines belong to the set; the others belong to no set. */
  readonly members?: number
}

export function plantFleet(
  world: World,
  agents: Agents,
  { declared = '1.0.0', outdated = 0, members = agents.scale.machines }: Start = {},
  rested?: Rested,
): void {
  const { fake } = world
  for (const version of [...GOOD, BAD])
    for (const component of ['beacon', 'scribe']) fake.plant(machineComponent, definition(version, component))
  fake.plant(defenderPolicy, {
    apiVersion: API_GROUP_VERSION,
    kind: 'DefenderPolicy',
    metadata: { name: 'open' },
    spec: {
      // The set's own limit is the one that binds: the Defender must not hide a mistake in it.
      budgets: [{ max: 2 * agents.scale.limit, of: 'concurrent', per: 'cluster' }],
      rates: [{ window: '1m', max: RATE, per: 'cluster' }],
      breaker: { failures: 10, of: 20, window: '10m', halfOpenAfter: '30s', widen: 3 },
      mode: 'Enforce',
    },
  })
  for (let i = 0; i < agents.scale.machines; i++)
    plantMachine(world, agents, { i, version: i < outdated ? '1.0.0' : declared, isMember: i < members }, rested)
  fake.plant(machineComponentSet, {
    apiVersion: API_GROUP_VERSION,
    kind: 'MachineComponentSet',
    metadata: { name: SET },
    spec: setSpec(declared, agents.scale),
  })
  renewLeases(world, agents)
}

/** From now on, as agents do that are not silent. */
export function renewLeases(world: World, agents: Agents): void {
  world.clock.after(BEAT_MS, () => {
    for (const m of world.fake.all(machineType)) renew(world, agents, m.metadata.name ?? '')
    renewLeases(world, agents)
  })
}

function renew({ fake, clock }: World, { silent }: Agents, name: string): void {
  const lease: Lease | undefined = fake.peek(leaseType, { namespace: SYSTEM_NAMESPACE, name: agentLeaseName(name) })
  if (!silent.has(name) && lease !== undefined)
    fake.restore(leaseType, { ...lease, spec: { ...lease.spec, renewTime: microTimestamp(clock.now()) } })
}

export interface Seat {
  readonly i: number
  readonly version: string
  readonly isMember: boolean
}

/** As all programs left it; without a pattern for that, as a user would create it. */
export function plantMachine(world: World, agents: Agents, seat: Seat, rested: Rested = new Map()): void {
  const { fake, clock } = world
  const name = nameOf(seat.i)
  const at = clock.now() - LONG_AGO_MS
  fake.plant(leaseType, {
    apiVersion: 'coordination.k8s.io/v1',
    kind: 'Lease',
    metadata: { namespace: SYSTEM_NAMESPACE, name: agentLeaseName(name) },
    spec: { holderIdentity: name, renewTime: microTimestamp(clock.now()) },
  })
  const copy = restedCopy(rested, { ...seat, name, zone: zoneOf(seat.i), class: classOf(seat.i), at }, () =>
    fake.core.uid(),
  )
  if (copy === undefined) writeDown(world, seat, at)
  else {
    fake.restore(nodeType, copy.node)
    fake.restore(machineType, copy.machine)
  }
  const uid = fake.peek(machineType, { name })?.metadata.uid ?? ''
  const providerID = `hollow://${name}`
  const host = {
    providerID,
    clientToken: uid,
    machineUid: uid,
    machine: name,
    state: 'Running',
    bootID: 'boot',
    createdAt: timestamp(at),
  }
  agents.hosts.set(providerID, { ...host, boots: 1, request: {} } as never)
  agents.fleet?.add(name, 'boot')
}

function writeDown({ fake }: World, { i, version, isMember }: Seat, at: number): void {
  const name = nameOf(i)
  const { metadata } = fake.plant(nodeType, { ...readyNode(name, at), metadata: { name } })
  const { spec, status, ...machine } = workingMachine(name, {
    versions: { beacon: version },
    zone: zoneOf(i),
    class: classOf(i),
    at,
  })
  fake.plant(machineType, {
    ...machine,
    metadata: { name, labels: isMember ? POOL : OTHERS, finalizers: [FINALIZERS.machine] },
    spec: {
      ...spec,
      provider: { name: 'hollow' },
      providerID: `hollow://${name}`,
      components: spec.components?.map(({ setRef, ...told }) => ({ ...told, ...(isMember && { setRef }) })),
    },
  })
  const observed = { ...status, observedGeneration: 1, nodeRef: { name, uid: metadata.uid ?? '' } }
  fake.poke(machineType, { name }, { status: observed }, 'status')
}

/** Which machines are of the set. */
export const select = ({ fake }: Stage, pools: readonly string[]): void => {
  const [key = ''] = Object.keys(POOL)
  const selector = { matchLabels: null, matchExpressions: [{ key, operator: 'In', values: pools }] }
  fake.poke(machineComponentSet, { name: SET }, { spec: { selector } })
}

export const declare = (world: Stage, version: string, scribe?: string): void => {
  const components = [
    { name: 'beacon', version },
    ...(scribe === undefined ? [] : [{ name: 'scribe', version: scribe }]),
  ]
  world.fake.poke(machineComponentSet, { name: SET }, { spec: { components } })
}

/** How many machines of the set may be unavailable. */
export const limitTo = (world: Stage, maxUnavailable: number): void =>
  void world.fake.poke(machineComponentSet, { name: SET }, { spec: { rollout: { maxUnavailable } } })

export const hold = ({ fake, clock }: Stage, name: string, effect: HoldEffect, forMs: number): void =>
  void fake.plant(operationalHold, holdOf(effect, clock.now(), { name, forMs }))

export const unhold = ({ fake }: Stage, name: string): void => fake.uproot(operationalHold, { name })

export function canary({ fake }: Stage, version: string, machines: readonly string[]): void {
  fake.plant(componentCanary, {
    apiVersion: API_GROUP_VERSION,
    kind: 'ComponentCanary',
    metadata: { name: 'trial' },
    spec: {
      selector: { matchLabels: POOL },
      pick: { machines },
      components: [{ name: 'beacon', version }],
      strategy: { maxBatchSize: 2, maxFailures: 0 },
      duration: '5s',
    },
  })
}

export function nodeReady({ fake, clock }: Stage, name: string, isReady: boolean): void {
  const ready = condition('Ready', isReady ? 'True' : 'False', clock.now())
  fake.poke(nodeType, { name }, { status: { conditions: [ready] } }, 'status')
}
