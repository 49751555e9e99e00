// The scenario: nodes fail alone, twice, for good, all at once, and while the Defender is away; and what must hold at every write.
import { KINDS } from '#api/kinds.ts'
import { type NodeRemedier, nodeRemedier } from '#api/kinds/node-remedier.ts'
import { type Machine, machine as machineType } from '#api/kinds/machine.ts'
import { type OperationPermit, operationPermit } from '#api/kinds/operation-permit.ts'
import { type RemedyOperationJob, remedyOperationJob } from '#api/kinds/remedy-operation-job.ts'
import { operationalHold } from '#api/kinds/operational-hold.ts'
import { jobTable } from '#api/protocol/job.ts'
import type { ControllerModule } from '#controllers/module.ts'
import { remedyModule } from '#controllers/remedy/reconcile.ts'
import { remedyJobModule } from '#controllers/remedyjob/reconcile.ts'
import { timestamp } from '#lib/clock.ts'
import type { FakeKind } from '#test/doubles/kube/kinds.ts'
import { type Node, hasTaint, nodeType } from '#nodes/objects.ts'
import { permitAnswer } from '#permits/permits.ts'
import type { Provider } from '#providers/port.ts'
import { createInformers } from '#runtime/informers.ts'
import { createMetrics } from '#runtime/metrics.ts'
import type { Invariant, Phase, Simulation } from '../harness.ts'
import type { Actor, SimProcess } from '../process.ts'
import { ALL_FAULTS, type FaultKind } from '../sim-faults.ts'
import type { World } from '../world.ts'
import {
  CORDONED,
  HEALS_AT,
  NODES,
  OWNERS,
  ZONE,
  agents,
  callDefenderBack,
  defender,
  label,
  nodeName,
  plantNodes,
  sendDefenderAway,
  setCondition,
} from './surroundings.ts'

export const kinds: readonly FakeKind[] = KINDS.map((k) => ({
  type: k,
  schema: k.schema,
  status: k.definition.status !== undefined,
}))

const LIMITS = { perNodePerDay: 12, perHour: 24, perDay: 40, maxInFlight: 2 }
const RULE = {
  when: { all: [{ fact: 'conditions', path: '/KernelDeadlock/status', operator: 'equal', value: 'True' }] },
  for: '2s',
  ladder: [
    {
      operations: [{ cordon: {} }, { restartComponent: { component: 'beacon' } }],
      timeout: '2m',
      verify: { conditionCleared: 'KernelDeadlock', stableFor: '5s' },
    },
    {
      operations: [{ collectEvidence: {} }, { restartComponent: { component: 'beacon' } }],
      timeout: '2m',
      verify: { stableFor: '5s' },
    },
  ],
  cooldown: '5s',
  relapseWindow: '10s',
  limits: LIMITS,
}

export interface Modules {
  readonly remedy: ControllerModule
  readonly job: ControllerModule
}

const correct: Modules = { remedy: remedyModule, job: remedyJobModule }

export function controllers(
  { remedy, job }: Modules = correct,
  name = 'controllers',
  providersOf: (process: SimProcess) => Readonly<Record<string, Provider>> = () => ({}),
): Actor {
  return {
    name,
    start: (process) => {
      const { client, cacheClient, clock, random, log } = process
      const informers = createInformers({ client: cacheClient, clock, random, log, startSpreadMs: 0 })
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
          providers: providersOf(process),
          join: {
            server: 'https://api',
            caData: 'Q0E=',
            artifactBase: 'file:///a/',
            trust: { sequence: 1, threshold: 1, keys: [] },
          },
        },
      }
      for (const module of [remedy, job]) for (const c of module.setup(context).controllers) c.start()
      informers.start()
    },
  }
}

const fail =
  (...nodes: readonly number[]) =>
  (world: World) =>
    nodes.forEach((n) => setCondition(world, n, 'KernelDeadlock', 'True'))
const all = Array.from({ length: NODES }, (_, n) => n)
const edit = (spec: object) => (world: World) => void world.fake.poke(nodeRemedier, { name: 'deadlock' }, { spec })

const phases: readonly Phase[] = [
  {
    name: 'a rule, and nodes that are well',
    act: (world) => {
      plantNodes(world)
      world.fake.plant(nodeRemedier, {
        apiVersion: 'kubenode.io/v1alpha1',
        kind: 'NodeRemedier',
        metadata: { name: 'deadlock' },
        spec: RULE,
      })
    },
  },
  { name: 'one node fails', act: fail(0) },
  {
    name: 'flaps within one gap',
    act: (world) => {
      fail(1)(world)
      world.clock.after(1_000, () => setCondition(world, 1, 'KernelDeadlock', 'False'))
      world.clock.after(1_200, () => fail(1)(world))
    },
  },
  {
    name: 'heals by itself',
    act: (world) => {
      fail(2)(world)
      world.clock.after(2_500, () => setCondition(world, 2, 'KernelDeadlock', 'False'))
    },
  },
  {
    name: 'three fail, and the first rung does not help one',
    act: (world) => {
      label(world, 3, HEALS_AT, '1')
      fail(3, 4, 5)(world)
    },
  },
  { name: 'all fail at once', act: fail(...all) },
  {
    name: 'they heal one by one',
    act: (world) =>
      all.forEach((n) => world.clock.after(1_000 * n, () => setCondition(world, n, 'KernelDeadlock', 'False'))),
  },
  {
    name: 'the Defender is away',
    act: (world) => {
      sendDefenderAway(world)
      fail(0)(world)
    },
  },
  {
    name: 'flaps while the job waits',
    act: (world) => {
      setCondition(world, 0, 'KernelDeadlock', 'False')
      world.clock.after(1_500, () => fail(0)(world))
    },
  },
  { name: 'the Defender is back', act: callDefenderBack },
  {
    name: 'a broken rule does not replace the good one',
    act: (world) => {
      edit({
        when: { all: [{ fact: 'condition', path: '/KernelDeadlock/status', operator: 'equal', value: 'True' }] },
      })(world)
      world.clock.after(3_000, () => fail(5)(world))
    },
  },
  { name: 'corrected', act: edit({ when: RULE.when }) },
]

const READONLY = {
  ...RULE,
  when: { all: [{ fact: 'conditions', path: '/ReadonlyFilesystem/status', operator: 'equal', value: 'True' }] },
  priority: 10,
  ladder: [{ ...RULE.ladder[0], verify: { conditionCleared: 'ReadonlyFilesystem', stableFor: '5s' } }],
}

/** What happens between rules, to zones and to policies. */
export const morePhases: readonly Phase[] = [
  {
    name: 'a second, higher rule; the Defender is away',
    act: (world) => {
      world.fake.plant(nodeRemedier, {
        apiVersion: 'kubenode.io/v1alpha1',
        kind: 'NodeRemedier',
        metadata: { name: 'readonly' },
        spec: READONLY,
      })
      sendDefenderAway(world)
    },
  },
  {
    name: 'two rules hit one node',
    act: (world) => {
      fail(6)(world)
      // Once the lower one has its job, which waits for a permit.
      world.clock.after(5_000, () => setCondition(world, 6, 'ReadonlyFilesystem', 'True'))
    },
  },
  { name: 'the Defender decides again', act: callDefenderBack },
  {
    name: 'a zone falls silent with a broken node in it, and a node elsewhere breaks',
    act: (world) => {
      for (let n = 0; n < ZONE; n++) setCondition(world, n, 'Ready', 'Unknown')
      fail(1, 8)(world)
    },
  },
  {
    name: 'the zone is heard again',
    act: (world) => {
      for (let n = 0; n < ZONE; n++) setCondition(world, n, 'Ready', 'True')
    },
  },
  {
    name: 'the node that fails falls silent before it is repaired',
    act: (world) => {
      fail(9)(world)
      silenceOnceGranted(world, 9)
    },
  },
  {
    name: 'and is heard of again',
    act: (world) => setCondition(world, 9, 'Ready', 'True'),
  },
  {
    name: 'a node that never failed does, while the Defender is away',
    act: (world) => {
      sendDefenderAway(world)
      fail(7)(world)
    },
  },
  { name: 'its repair is held', act: (world) => hold(world, 7) },
  { name: 'the Defender grants what is held: the slot goes back', act: callDefenderBack },
  { name: 'the hold is over', act: (world) => world.fake.uproot(operationalHold, { name: 'wait' }) },
  {
    name: 'the rule is deleted while its job waits',
    act: (world) => {
      sendDefenderAway(world)
      fail(7)(world)
      world.clock.after(6_000, () => world.fake.uproot(nodeRemedier, { name: 'deadlock' }))
    },
  },
]

const jobsOf = (world: World): readonly RemedyOperationJob[] =>
  world.fake.all(remedyOperationJob) as readonly RemedyOperationJob[]
const phaseOf = (job: RemedyOperationJob | undefined) => job?.status?.phase ?? 'Pending'

/** Much less than a job ripens: the node falls silent between the permit and the repair, whatever delays the faults caused before. */
const LOOK_MS = 50

function silenceOnceGranted(world: World, n: number): void {
  const waits = jobsOf(world).filter((j) => j.spec.node.name === `n${n}` && phaseOf(j) === 'AwaitingPermit')
  const granted = (world.fake.all(operationPermit) as readonly OperationPermit[]).filter(
    (p) => p.status?.phase === 'Granted',
  )
  if (waits.some((j) => granted.some((p) => p.metadata.name === j.metadata.name)))
    setCondition(world, n, 'Ready', 'Unknown')
  else world.clock.after(LOOK_MS, () => silenceOnceGranted(world, n))
}

function hold(world: World, n: number): void {
  const until = timestamp(world.clock.now() + 3_600_000)
  const spec = { target: { kind: 'Node', name: nodeName(n) }, effect: 'Pause', reason: 'x', author: 'sam', until }
  const metadata = { name: 'wait' }
  world.fake.plant(operationalHold, { apiVersion: 'kubenode.io/v1alpha1', kind: 'OperationalHold', metadata, spec })
}

const JOBS = 'kubenode.io/remedyoperationjobs'

const oneOpenJobANode: Invariant = ({ kind, type }, world) => {
  if (kind !== JOBS || type !== 'ADDED') return undefined
  const open = Map.groupBy(
    jobsOf(world).filter((j) => phaseOf(j) !== 'Done'),
    (j) => j.spec.node.uid,
  )
  const double = [...open.values()].find((jobs) => jobs.length > 1)
  return double && `two open jobs on ${double[0]?.spec.node.name}: ${double.map((j) => j.metadata.name).join(', ')}`
}

const oneJobARung: Invariant = ({ kind, type }, world) => {
  if (kind !== JOBS || type !== 'ADDED') return undefined
  const same = Map.groupBy(jobsOf(world), (j) => `${j.spec.incident} ${j.spec.rung} ${j.spec.attempt}`)
  const double = [...same.values()].find((jobs) => jobs.length > 1)
  return double && `two jobs for one rung: ${double.map((j) => j.metadata.name).join(', ')}`
}

/** Sliding windows over what started, by the stamps: any hour and any day. */
const withinLimits: Invariant = ({ kind }, world) => {
  if (kind !== JOBS) return undefined
  const jobs = jobsOf(world)
  const ofRules = Map.groupBy(
    jobs.filter((j) => phaseOf(j) !== 'Done'),
    (j) => j.spec.remedierRef.name,
  )
  const open = Math.max(0, ...[...ofRules.values()].map((of) => of.length))
  if (open > LIMITS.maxInFlight) return `${open} repairs at the same time`
  const starts = jobs.flatMap((j) =>
    j.status?.startedAt === undefined ? [] : [{ at: Date.parse(j.status.startedAt), node: j.spec.node.uid }],
  )
  const most = (windowMs: number, of: typeof starts) =>
    Math.max(0, ...of.map((s) => of.filter((t) => t.at >= s.at && t.at < s.at + windowMs).length))
  if (most(3_600_000, starts) > LIMITS.perHour) return 'more repairs in an hour than allowed'
  const perNode = [...Map.groupBy(starts, (s) => s.node).values()].map((of) => most(86_400_000, of))
  return Math.max(0, ...perNode) > LIMITS.perNodePerDay ? 'more repairs of a node in a day than allowed' : undefined
}

const byTheTable: Invariant = ({ kind, object, previous }) => {
  if (kind !== JOBS || previous === undefined || object === undefined) return undefined
  const from = phaseOf(previous as RemedyOperationJob)
  const to = phaseOf(object as RemedyOperationJob)
  return from === to || jobTable.rows.some((r) => r.from === from && r.to === to)
    ? undefined
    : `${object.metadata.name} goes from ${from} to ${to}`
}

const startsUnderAPermit: Invariant = ({ kind, object, previous }, world) => {
  const job = object as RemedyOperationJob | undefined
  if (kind !== JOBS || phaseOf(job) !== 'Running' || phaseOf(previous as RemedyOperationJob | undefined) === 'Running')
    return undefined
  const permit = world.fake.peek(operationPermit, { name: job?.status?.permitRef ?? '' }) as OperationPermit | undefined
  const target = permit?.spec.targets[0]?.uid ?? ''
  return permitAnswer(permit, target).kind === 'Granted' ? undefined : `${job?.metadata.name} runs without a permit`
}

/** While more than a third of the nodes have the fault, no repair starts and no node is cordoned. */
const massTouchesNobody: Invariant = ({ kind, object, previous, call }, world) => {
  if (call === undefined || (kind !== JOBS && kind !== '/nodes')) return undefined
  const bad = (world.fake.all(nodeType) as readonly Node[]).filter((n) =>
    n.status?.conditions?.some((c) => c.type === 'KernelDeadlock' && c.status === 'True'),
  )
  if (bad.length < NODES) return undefined
  if (
    kind === JOBS &&
    phaseOf(object as RemedyOperationJob) === 'Running' &&
    phaseOf(previous as RemedyOperationJob | undefined) !== 'Running'
  )
    return `${object?.metadata.name} starts while ${bad.length} nodes are bad`
  const isOurs = (n: Node | undefined) => n?.metadata.annotations?.[OWNERS]?.includes('repair-') === true
  const isCordon = kind === '/nodes' && isOurs(object) && !isOurs(previous)
  return isCordon ? `${object?.metadata.name} is cordoned while ${bad.length} nodes are bad` : undefined
}

const foreignCordonStays: Invariant = ({ kind, object }) => {
  if (kind !== '/nodes' || object?.metadata.name !== nodeName(CORDONED)) return undefined
  const isThere = hasTaint(object, 'kubenode.io/cordon') && object.metadata.annotations?.[OWNERS]?.includes('people')
  return isThere === true ? undefined : `the cordon that people put on ${object.metadata.name} was lifted`
}

/** It is unknown whether a silent node is still broken. */
const silentIsLeftAlone: Invariant = ({ kind, object, previous }, world) => {
  if (kind !== JOBS || phaseOf(object as RemedyOperationJob) !== 'Running') return undefined
  if (phaseOf(previous as RemedyOperationJob | undefined) === 'Running') return undefined
  const { name } = (object as RemedyOperationJob).spec.node
  const node: Node | undefined = world.fake.peek(nodeType, { name })
  const ready = node?.status?.conditions?.find((c) => c.type === 'Ready')?.status
  return ready === 'True' ? undefined : `${object?.metadata.name} starts on ${name}, which is Ready ${ready}`
}

/** What matters in the end: who is healed, who is still cordoned, which slots are held, what is listed. */
const state = (world: World): unknown => ({
  nodes: (world.fake.all(nodeType) as readonly Node[]).map((n) => ({
    name: n.metadata.name,
    isBad: n.status?.conditions?.some((c) => c.type === 'KernelDeadlock' && c.status === 'True'),
    isCordoned: hasTaint(n, 'kubenode.io/cordon') && n.metadata.annotations?.[OWNERS]?.includes('repair-') === true,
    others: n.metadata.annotations?.[OWNERS]?.includes('people') === true,
  })),
  open: jobsOf(world)
    .filter((j) => phaseOf(j) !== 'Done')
    .map(
      (j) =>
        `${j.spec.node.name} ${j.spec.rung} ${phaseOf(j)} ${j.status?.waitingFor?.predicate}${j.spec.remedierRef.name === 'readonly' ? ' by the higher rule' : ''}`,
    ),
  listed: (world.fake.all(machineType) as readonly Machine[]).flatMap((m) => m.spec.jobs ?? []).length,
  held: (world.fake.all(operationPermit) as readonly OperationPermit[]).filter((p) => p.status?.phase === 'Granted')
    .length,
  rules: (world.fake.all(nodeRemedier) as readonly NodeRemedier[]).map(({ status }) => ({
    matching: status?.counts?.matching,
    conditions: status?.conditions?.map((c) => `${c.type} ${c.status}`),
  })),
})

/** Stamps are what limits rest on: a wall clock that jumps days makes any of them mean something else. That is tried with tables. */
const FAULTS: readonly FaultKind[] = ALL_FAULTS.filter((f) => f !== 'WallJump')

export function remedySimulation(
  modules: () => Partial<Modules> = () => ({}),
  faults: readonly FaultKind[] = FAULTS,
  named: readonly string[] = phases.map((p) => p.name),
): Simulation {
  return {
    kinds,
    faults,
    actors: () => [controllers({ ...correct, ...modules() }), defender, agents],
    phases: [...phases, ...morePhases].filter((p) => named.includes(p.name)),
    invariants: {
      oneOpenJobANode,
      oneJobARung,
      withinLimits,
      byTheTable,
      startsUnderAPermit,
      massTouchesNobody,
      foreignCordonStays,
      silentIsLeftAlone,
    },
    state,
    counted: [],
    // A rung that did not help is given up after a minute.
    settleMs: 150_000,
    restMs: 60_000,
  }
}
