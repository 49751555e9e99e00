// The scenario of silence, with the shipped rule, the real Defender and a provider that cuts power: one machine falls silent, a rack does, a few all over do.
import { type Machine, machine as machineType } from '#api/kinds/machine.ts'
import { type NodeRemedierInput, nodeRemedier } from '#api/kinds/node-remedier.ts'
import { type OperationPermit, operationPermit } from '#api/kinds/operation-permit.ts'
import { type RemedyOperationJob, remedyOperationJob } from '#api/kinds/remedy-operation-job.ts'
import { conditionIs } from '#api/node-leaves.ts'
import { timestamp } from '#lib/clock.ts'
import { createInformer } from '#kube/informer.ts'
import { type Node, nodeType } from '#nodes/objects.ts'
import { LOCAL_CAPABILITIES, type Provider } from '#providers/port.ts'
import { silentNode } from '../../../rules/node/silent.ts'
import { defender } from '../defender/world.ts'
import type { Invariant, Phase, Simulation } from '../harness.ts'
import type { Actor, SimProcess } from '../process.ts'
import type { World } from '../world.ts'
import { type Modules, controllers, kinds } from './simulation.ts'
import { remedyModule } from '#controllers/remedy/reconcile.ts'
import { remedyJobModule } from '#controllers/remedyjob/reconcile.ts'

const MACHINES = 12
const OF_A_RACK = 4
/** On a node: how often its power was cut. The fake keeps it, as the world would. */
const POWER_CUTS = 'sim/power-cuts'
/** On a node: cutting its power does not bring it back. */
const DEAD = 'sim/dead'
const BOOT_MS = 45_000

const nameOf = (n: number): string => `n${n}`
const rackOf = (n: number): string => `r${Math.floor(n / OF_A_RACK)}`
const all = Array.from({ length: MACHINES }, (_, n) => n)

const condition = (now: number, type: string, status: 'True' | 'False' | 'Unknown') => ({
  type,
  status,
  reason: 'MachineExists',
  message: '',
  lastTransitionTime: timestamp(now),
})

/** The shipped rule with a tenth of its patience, for what is tried hundreds of times. */
const hasty: NodeRemedierInput['spec'] = {
  ...silentNode,
  when: {
    all: [
      conditionIs('Ready', 'Unknown', '30s'),
      { fact: 'machine', path: '/agentReachable', operator: 'equal', value: 'False' },
    ],
  },
  ladder: [{ operations: [{ reboot: { timeout: '2m' } }], timeout: '3m', verify: { stableFor: '30s' } }],
}

function plantMachines(world: World): void {
  const now = world.clock.now()
  for (const n of all) {
    const name = nameOf(n)
    const node = world.fake.plant(nodeType, {
      apiVersion: 'v1',
      kind: 'Node',
      metadata: { name },
      status: { conditions: [condition(now, 'Ready', 'True')] },
    })
    world.fake.plant(machineType, {
      apiVersion: 'kubenode.io/v1alpha1',
      kind: 'Machine',
      metadata: { name },
      spec: { rack: rackOf(n), provider: { name: 'sim' }, providerID: `sim://${name}` },
    })
    const status = {
      phase: 'Ready',
      nodeRef: { name, uid: node.metadata.uid },
      bootID: 'boot-0',
      conditions: ['Ready', 'AgentReachable', 'InfrastructureReady'].map((type) => condition(now, type, 'True')),
    }
    world.fake.poke(machineType, { name }, { status }, 'status')
  }
}

function plantRule(world: World, spec: NodeRemedierInput['spec']): void {
  const metadata = { name: 'silent' }
  world.fake.plant(nodeRemedier, { apiVersion: 'kubenode.io/v1alpha1', kind: 'NodeRemedier', metadata, spec })
}

/** As the control plane and the machine controller tell it. */
function setHeard(world: World, n: number, isHeard: boolean): void {
  const name = nameOf(n)
  const now = world.clock.now()
  world.fake.poke(
    nodeType,
    { name },
    { status: { conditions: [condition(now, 'Ready', isHeard ? 'True' : 'Unknown')] } },
    'status',
  )
  const found = world.fake.peek(machineType, { name }) as Machine
  const others = (found.status?.conditions ?? []).filter((c) => c.type !== 'AgentReachable' && c.type !== 'Ready')
  const told = (['AgentReachable', 'Ready'] as const).map((type) => condition(now, type, isHeard ? 'True' : 'False'))
  world.fake.poke(machineType, { name }, { status: { conditions: [...others, ...told] } }, 'status')
}

/** An order is a write of the controllers: it may be lost, or its answer may be. */
const provider = ({ client }: SimProcess): Provider => ({
  name: 'sim',
  capabilities: LOCAL_CAPABILITIES,
  create: async () => ({ kind: 'Refused', reason: 'nothing is made here' }),
  get: async () => undefined,
  list: async () => ({ hosts: [], asOf: timestamp(0) }),
  delete: async () => 'Gone',
  reboot: async (providerID) => {
    const name = providerID.replace('sim://', '')
    const node = await client.get(nodeType, { name })
    const cuts = Number(node?.metadata.annotations?.[POWER_CUTS] ?? 0) + 1
    const value = { metadata: { annotations: { [POWER_CUTS]: String(cuts) } } }
    await client.patch(nodeType, { name }, { type: 'merge', value })
    return 'Ordered'
  },
  events: async () => undefined,
})

const cutsOf = (node: Node | undefined): number => Number(node?.metadata.annotations?.[POWER_CUTS] ?? 0)

/** Machines boot after a power cut, and send heartbeats again. */
const hosts = (world: () => World): Actor => ({
  name: 'hosts',
  isFaulty: false,
  start: ({ cacheClient, clock, random, signal }) => {
    const informer = createInformer<Node>({ client: cacheClient, type: nodeType, clock, random })
    informer.addHandler((before, node) => {
      const cuts = cutsOf(node)
      if (before === undefined || node === undefined || cuts === cutsOf(before)) return
      const { name = '', annotations } = node.metadata
      if (annotations?.[DEAD] !== undefined) return
      clock.after(BOOT_MS, () => {
        setHeard(world(), Number(name.slice(1)), true)
        world().fake.poke(machineType, { name }, { status: { bootID: `boot-${cuts}` } }, 'status')
      })
    })
    void informer.run(signal)
  },
})

export const silencePhases: readonly Phase[] = [
  { name: 'all are heard of', act: plantMachines },
  { name: 'one machine falls silent', act: (world) => setHeard(world, 0, false) },
  { name: 'a rack falls silent', act: (world) => [4, 5, 6, 7].forEach((n) => setHeard(world, n, false)) },
  { name: 'the rack is heard again', act: (world) => [4, 5, 6, 7].forEach((n) => setHeard(world, n, true)) },
  { name: 'one in each rack and one more', act: (world) => [1, 5, 9, 10].forEach((n) => setHeard(world, n, false)) },
  { name: 'they are heard again', act: (world) => [1, 5, 9, 10].forEach((n) => setHeard(world, n, true)) },
]

const nodesOf = (world: World): readonly Node[] => world.fake.all(nodeType)
const isSilent = (node: Node | undefined): boolean =>
  node?.status?.conditions?.some((c) => c.type === 'Ready' && c.status === 'Unknown') === true

/** No machine with heartbeats loses its power, and none in a place that is silent as a whole. */
const onlyTheSilentOne: Invariant = ({ kind, object, previous, call }, world) => {
  const node = object as Node | undefined
  if (kind !== '/nodes' || call === undefined || cutsOf(node) <= cutsOf(previous)) return undefined
  if (!isSilent(node)) return `the power of ${node?.metadata.name} is cut while it is heard of`
  const silent = nodesOf(world).filter(isSilent)
  return silent.length >= 3 ? `the power of ${node?.metadata.name} is cut while ${silent.length} are silent` : undefined
}

/** By its permit the Defender knew what it let pass. */
const namesTheSilence: Invariant = ({ kind, object }) => {
  if (kind !== 'kubenode.io/operationpermits') return undefined
  const permit = object as OperationPermit | undefined
  if (permit?.status?.phase !== 'Granted' || permit.spec.results !== undefined) return undefined
  const said = permit.status.gates?.find((g) => g.gate === 'Target')?.seen
  // A Defender that died between the grant and the status write finds only the grant in the ledger.
  if ((permit.status.gates ?? []).length === 0) return undefined
  // A machine that sends heartbeats again by then, or whose agent still does, is granted like any other, and its repair is given up.
  const isRight = [/which is the fault to repair/, / is healthy$/, /\(its agent is alive\)$/].some((way) =>
    way.test(said ?? ''),
  )
  return isRight ? undefined : `${permit.metadata.name} is granted, and its gate says ${said}`
}

const state = (world: World): unknown => ({
  silent: nodesOf(world)
    .filter(isSilent)
    .map((n) => n.metadata.name),
  cut: nodesOf(world)
    .filter((n) => cutsOf(n) > 0)
    .map((n) => n.metadata.name),
  open: (world.fake.all(remedyOperationJob) as readonly RemedyOperationJob[])
    .filter((j) => j.status?.phase !== 'Done')
    .map((j) => `${j.spec.node.name} ${j.status?.phase}`),
  held: (world.fake.all(operationPermit) as readonly OperationPermit[]).filter((p) => p.status?.phase === 'Granted')
    .length,
})

export const jobsOf = (world: World): readonly string[] =>
  (world.fake.all(remedyOperationJob) as readonly RemedyOperationJob[]).map(
    (j) => `${j.spec.node.name} rung ${j.spec.rung} ${j.status?.outcome}`,
  )

interface Patience {
  readonly rule: NodeRemedierInput['spec']
  readonly settleMs: number
  readonly restMs: number
}

/** The rule waits five minutes before it acts, and five more before it believes. */
const PATIENT: Patience = { rule: silentNode, settleMs: 1_800_000, restMs: 420_000 }
export const HASTY: Patience = { rule: hasty, settleMs: 300_000, restMs: 60_000 }

export function silenceSimulation(
  named: readonly string[] = silencePhases.map((p) => p.name),
  { rule, settleMs, restMs }: Patience = PATIENT,
): Simulation {
  let world: World | undefined
  const here = (): World => {
    if (world === undefined) throw new Error('nothing was planted')
    return world
  }
  const modules: Modules = { remedy: remedyModule, job: remedyJobModule }
  return {
    kinds,
    actors: () => [
      controllers(modules, 'controllers', (process) => ({ sim: provider(process) })),
      defender('defender'),
      hosts(here),
    ],
    phases: silencePhases
      .filter((p) => named.includes(p.name))
      .map(({ name, act }) => ({
        name,
        act: (into) => {
          world = into
          act(into)
          if (name === silencePhases[0]?.name) plantRule(into, rule)
        },
      })),
    invariants: { onlyTheSilentOne, namesTheSilence },
    state,
    counted: [],
    settleMs,
    // Rates fall out of their windows hours later.
    heartbeats: ['kubenode.io/defenderledgers'],
    restMs,
  }
}
