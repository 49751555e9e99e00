// The scenario: a set of machines grows, is upgraded, meets a bad version, goes back, shrinks and ends; and what must hold at every write.
import { KINDS } from '#api/kinds.ts'
import { machineComponentSet } from '#api/kinds/machine-component-set.ts'
import { machineComponent } from '#api/kinds/machine-component.ts'
import { type MachineSet, machineSet } from '#api/kinds/machine-set.ts'
import { type Machine, machine as machineType } from '#api/kinds/machine.ts'
import { type OperationPermit, operationPermit } from '#api/kinds/operation-permit.ts'
import { operationalHold } from '#api/kinds/operational-hold.ts'
import { timestamp } from '#lib/clock.ts'
import { TAINTS } from '#api/names.ts'
import { hasOpenSwitch } from '#api/protocol/component-order.ts'
import { jsonEqual } from '#lib/json.ts'
import { approverModule } from '#controllers/approver/reconcile.ts'
import { machineModule } from '#controllers/machine/reconcile.ts'
import { secretType } from '#nodes/objects.ts'
import { machineSetModule } from '#controllers/machineset/reconcile.ts'
import type { ControllerModule } from '#controllers/module.ts'
import type { FakeKind } from '#test/doubles/kube/kinds.ts'
import { componentObjectName } from '#lib/names.ts'
import { type Node, nodeType } from '#nodes/objects.ts'
import { permitAnswer } from '#permits/permits.ts'
import { type MemoryHost, MemoryProvider } from '#test/doubles/providers/memory-provider.ts'
import type { Provider } from '#providers/port.ts'
import { createInformers } from '#runtime/informers.ts'
import { createMetrics } from '#runtime/metrics.ts'
import type { Invariant, Phase, Simulation } from '../harness.ts'
import type { Actor } from '../process.ts'
import { ALL_FAULTS, type FaultKind } from '../sim-faults.ts'
import type { World } from '../world.ts'
import { BROKEN, surround } from './surroundings.ts'

export const kinds: readonly FakeKind[] = KINDS.map((k) => ({
  type: k,
  schema: k.schema,
  status: k.definition.status !== undefined,
}))

const SET = 'workers'
const POOL = { pool: 'workers' }

/** What outlives every process of a run; runs come one after the other. */
export type Cloud = Map<string, MemoryHost>

export function controllers(
  modules: readonly ControllerModule[],
  hosts: Cloud,
  through: (provider: Provider) => Provider,
): Actor {
  return {
    name: 'controllers',
    start: ({ client, cacheClient, clock, random, log }) => {
      const informers = createInformers({ client: cacheClient, clock, random, log })
      const provider = through(new MemoryProvider({ clock, name: 'process', hosts }))
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
          providers: { process: provider },
          join: {
            server: 'https://api',
            caData: 'Q0E=',
            artifactBase: 'file:///a/',
            trust: { sequence: 1, threshold: 1, keys: [] },
          },
        },
      }
      for (const module of [approverModule, ...modules]) for (const c of module.setup(context).controllers) c.start()
      informers.start()
    },
  }
}

export const definition = (version: string) => ({
  apiVersion: 'kubenode.io/v1alpha1',
  kind: 'MachineComponent',
  metadata: { name: componentObjectName('beacon', version) },
  spec: { ...machineComponent.example.spec, component: 'beacon', version, requires: [], disruption: 'Restart' },
})

const scale = (replicas: number) => (world: World) =>
  void world.fake.poke(machineSet, { name: SET }, { spec: { replicas } })
const declare = (version: string) => (world: World) => {
  if (world.fake.peek(machineComponent, { name: componentObjectName('beacon', version) }) === undefined)
    world.fake.plant(machineComponent, definition(version))
  world.fake.poke(machineComponentSet, { name: 'base' }, { spec: { components: [{ name: 'beacon', version }] } })
}

/** The provider loses the first machine's host, with all that ran there. */
function loseHost(world: World, hosts: Cloud): void {
  const [first] = machinesOf(world)
    .map((m) => m.metadata.name ?? '')
    .sort()
  hosts.delete(`process://${first}`)
}

const HOLD = 'a-look'
const DAY_MS = 86_400_000

/** Longer than the simulation, whatever the clocks on the walls do. */
function pause({ fake, clock }: World): void {
  const until = timestamp(clock.now() + 365 * DAY_MS)
  const target = { kind: 'MachineSet', name: SET }
  fake.plant(operationalHold, {
    apiVersion: 'kubenode.io/v1alpha1',
    kind: 'OperationalHold',
    metadata: { name: HOLD },
    spec: { target, effect: 'Pause', reason: 'a look', author: 'ada', until },
  })
}

/** A label, and a taint that evicts pods, for machines that exist. */
function retemplate(world: World): void {
  const spec = { labels: { disk: 'nvme' }, taints: [{ key: 'gone', effect: 'NoExecute' }] }
  world.fake.poke(machineSet, { name: SET }, { spec: { template: { spec } } })
}

const phases = (hosts: () => Cloud): readonly Phase[] => [
  {
    name: 'create',
    act: (world) => {
      surround(world, hosts())
      world.fake.plant(machineComponent, definition('1.0.0'))
      world.fake.plant(machineComponentSet, {
        apiVersion: 'kubenode.io/v1alpha1',
        kind: 'MachineComponentSet',
        metadata: { name: 'base' },
        spec: { selector: { matchLabels: POOL }, components: [{ name: 'beacon', version: '1.0.0' }] },
      })
      world.fake.plant(machineSet, {
        apiVersion: 'kubenode.io/v1alpha1',
        kind: 'MachineSet',
        metadata: { name: SET },
        spec: {
          replicas: 2,
          selector: { matchLabels: POOL },
          template: { metadata: { labels: POOL }, spec: { provider: { name: 'process' }, pool: 'workers' } },
        },
      })
    },
  },
  { name: 'grow', act: scale(4) },
  { name: 'a host dies', act: (world) => loseHost(world, hosts()) },
  { name: 'pause', act: pause },
  { name: 'upgrade', act: declare('1.1.0') },
  { name: 'grow while paused', act: scale(5) },
  { name: 'resume', act: (world) => world.fake.uproot(operationalHold, { name: HOLD }) },
  { name: 'another template', act: retemplate },
  { name: 'shrink', act: scale(2) },
  { name: 'shrink to one', act: scale(1) },
  { name: 'a version that does not work', act: declare(BROKEN) },
  { name: 'revert', act: declare('1.1.0') },
  { name: 'grow again', act: scale(4) },
  { name: 'to nothing', act: scale(0) },
]

const machinesOf = (world: World): readonly Machine[] => world.fake.all(machineType) as readonly Machine[]
const isGoing = (m: Machine | undefined): boolean => m?.metadata.deletionTimestamp !== undefined
const nodeOf = (world: World, m: Machine): Node | undefined =>
  world.fake.peek(nodeType, { name: m.metadata.name ?? '' })

const isInService = (world: World, m: Machine): boolean => {
  const node = nodeOf(world, m)
  return node !== undefined && node.spec?.taints?.some((t) => t.key === TAINTS.componentsPending) !== true
}
const isGranted = (world: World, uid: string, operation: string): boolean =>
  (world.fake.all(operationPermit) as readonly OperationPermit[]).some(
    (p) => (p.spec.operations as readonly string[]).includes(operation) && permitAnswer(p, uid).kind === 'Granted',
  )

const KIND = 'kubenode.io/machines'

const neverTooMany: Invariant = ({ kind, type, call }, world) => {
  if (kind !== KIND || type !== 'ADDED' || call === undefined) return undefined
  const set = world.fake.peek(machineSet, { name: SET }) as MachineSet | undefined
  const alive = machinesOf(world).filter((m) => !isGoing(m)).length
  return set === undefined || alive <= set.spec.replicas
    ? undefined
    : `${alive} machines for ${set.spec.replicas} replicas`
}

/** A machine without a host disrupts nothing when it is deleted: only one with a host needs a permit. */
const removalIsPermitted =
  (hosts: () => Cloud): Invariant =>
  ({ kind, type, object, previous, call }, world) => {
    const [before, now] = [previous as Machine | undefined, object as Machine]
    if (kind !== KIND || call === undefined || type !== 'MODIFIED' || isGoing(before) || !isGoing(now)) return undefined
    if (!isInService(world, now) || isGranted(world, now.metadata.uid ?? '', 'ScaleIn')) return undefined
    if (!hosts().has(`process://${now.metadata.name}`)) return undefined
    return `${now.metadata.name} goes without a permit`
  }

/** The set gives a machine in service a taint that evicts its pods. */
const evictionIsPermitted: Invariant = ({ kind, type, object, previous, call }, world) => {
  if (kind !== KIND || call === undefined || type !== 'MODIFIED') return undefined
  const [before, now] = [previous as Machine | undefined, object as Machine]
  const evicting = (m: Machine | undefined) => (m?.spec.taints ?? []).filter((t) => t.effect === 'NoExecute').length
  if (evicting(now) <= evicting(before) || !isInService(world, now)) return undefined
  return isGranted(world, now.metadata.uid ?? '', 'Drain')
    ? undefined
    : `${now.metadata.name} is tainted without a permit`
}

/** Long enough for what was under way when the hold came to have reached the server. */
const HOLD_GRACE_MS = 30_000

const heldIsHeld: Invariant = ({ kind, type, object, previous, call }, world) => {
  const hold = world.fake.peek(operationalHold, { name: HOLD })
  if (hold === undefined || kind !== KIND || call === undefined) return undefined
  if (world.clock.monotonic() - (heldSince.get(world) ?? setHeld(world)) < HOLD_GRACE_MS) return undefined
  const [before, now] = [previous as Machine | undefined, object as Machine]
  if (type === 'ADDED') return `${now.metadata.name} is made while the set is held`
  if (isGoing(now) && !isGoing(before)) return `${now.metadata.name} is removed while the set is held`
  const isNew = (now.spec.components ?? []).some(
    (c) =>
      c.switch !== undefined && !jsonEqual(before?.spec.components?.find((b) => b.name === c.name)?.switch, c.switch),
  )
  return isNew ? `${now.metadata.name} is told to switch while the set is held` : undefined
}

const heldSince = new WeakMap<World, number>()
function setHeld(world: World): number {
  const now = world.clock.monotonic()
  heldSince.set(world, now)
  return now
}

const nothingIsLeftBehind =
  (hosts: () => Cloud): Invariant =>
  ({ kind, type, object, call }, world) => {
    if (kind !== KIND || type !== 'DELETED' || call === undefined) return undefined
    const name = object.metadata.name ?? ''
    if (hosts().has(`process://${name}`)) return `${name} is gone and its host is not`
    return world.fake.peek(nodeType, { name }) === undefined ? undefined : `${name} is gone and its Node is not`
  }

const orderIsPermitted: Invariant = ({ kind, object, previous, call }, world) => {
  if (kind !== KIND || call === undefined) return undefined
  const [before, now] = [previous as Machine | undefined, object as Machine]
  for (const entry of now.spec.components ?? []) {
    const had = before?.spec.components?.find((c) => c.name === entry.name)
    if (entry.switch === undefined || jsonEqual(had?.switch, entry.switch)) continue
    if (!isGranted(world, now.metadata.uid ?? '', 'SwitchComponent'))
      return `${now.metadata.name} is told to switch without a permit`
    const report = now.status?.components?.find((r) => r.name === entry.name)
    if (report?.state !== 'Staged' || report.attempt !== entry.attempt)
      return `${now.metadata.name} is told to switch what is not staged`
  }
  return undefined
}

/** Names of machines are drawn, so states are compared without them. */
function state(world: World, hosts: Cloud): unknown {
  const set = world.fake.peek(machineSet, { name: SET }) as MachineSet | undefined
  const { replicas, readyReplicas, deletingReplicas, phase } = set?.status ?? {}
  const machines = machinesOf(world).map(({ spec, status }) => ({
    phase: status?.phase,
    ready: status?.conditions?.find((c) => c.type === 'Ready')?.status,
    version: spec.components?.[0]?.version,
    runs: status?.components?.[0]?.version,
    state: status?.components?.[0]?.state,
    order: hasOpenSwitch({ spec, status }),
    pool: spec.pool,
  }))
  return {
    set: { replicas, readyReplicas, deletingReplicas, phase },
    machines: machines.map((m) => JSON.stringify(m)).sort(),
    hosts: hosts.size,
    nodes: world.fake.all(nodeType).map((n) => JSON.stringify([(n as Node).spec?.taints, n.metadata.labels])),
    tokens: world.fake.all(secretType).length,
  }
}

export interface Scenario {
  readonly modules?: readonly ControllerModule[]
  readonly faults?: readonly FaultKind[]
  /** Names of the phases; all when left out. */
  readonly only?: readonly string[]
  /** Stands between the controllers and the cloud, for planted bugs. */
  readonly provider?: (provider: Provider) => Provider
}

export function machineSimulation({
  modules = [machineModule, machineSetModule],
  faults = ALL_FAULTS,
  only,
  provider = (p) => p,
}: Scenario = {}): Simulation {
  let hosts: Cloud = new Map()
  const cloud = () => hosts
  return {
    faults,
    kinds,
    actors: () => {
      hosts = new Map()
      return [controllers(modules, hosts, provider)]
    },
    phases: phases(cloud).filter((p) => only?.includes(p.name) ?? true),
    invariants: {
      neverTooMany,
      removalIsPermitted: removalIsPermitted(cloud),
      evictionIsPermitted,
      heldIsHeld,
      nothingIsLeftBehind: nothingIsLeftBehind(cloud),
      orderIsPermitted,
    },
    counted: [KIND, '/nodes'],
    heartbeats: ['coordination.k8s.io/leases'],
    state: (world) => state(world, hosts),
    settleMs: 180_000,
    restMs: 60_000,
  }
}
