// A story as a simulation: its actors, its invariants, and what its end is compared by.
import { type ComponentCanary, componentCanary } from '#api/kinds/component-canary.ts'
import type { MachineComponentSet } from '#api/kinds/machine-component-set.ts'
import { type Machine, machine as machineType } from '#api/kinds/machine.ts'
import { rebooting } from '#api/protocol/rebooting.ts'
import { hasOpenSwitch } from '#api/protocol/component-order.ts'
import { isPlace } from '#defender/blame/cohorts.ts'
import { seededRandom } from '#lib/random.ts'
import { type Invariant, type Run, type Simulation, describeRun, referenceRun, simulate } from '../harness.ts'
import { type FaultKind, type SimFault, drawFaults } from '../sim-faults.ts'
import type { World } from '../world.ts'
import { Chronicle } from './chronicle.ts'
import {
  Agents,
  type ControllerParts,
  SEED_SCALE,
  type Scale,
  agentsActor,
  controllersActor,
  defenderActor,
  kinds,
  plantFleet,
  plantMachine,
} from './fleet.ts'
import { restedMachines } from './bring-to-rest.ts'
import type { Rested } from './rested.ts'
import { BLAMES, Watcher, ledgerOf, openPermits, setOf } from './invariants.ts'
import { type Story, stories } from './stories.ts'
import { Teller } from './reporter.ts'

const FAULTY_MS = 20_000
/** Longer than anything that a story heals by itself, and than what follows from it. A place that was ill is well half an hour after its machines. */
const SETTLE_MS = 45 * 60_000
/** The Defender looks every second at a rollout that waits for a place. */
const MOST_STEPS = 150_000
const REST_MS = 45_000
/**
 * Longer than any wait of a controller or a story: silence takes 40 s, being Lost 60 s, a breaker 30 s. Machines that are silent from the first second on are
 * NotReady after 40 s, are heard again after 100 s, and renew their Leases with the next heartbeat, after 120 s.
 */
const QUIET_MS = 105_000

/** Counts machines by their order and what they run, regardless of which machine came first. */
const machinesIn = (machines: readonly Machine[]): Readonly<Record<string, number>> =>
  tally(
    machines.map(({ spec, status }) => {
      const [told] = spec.components ?? []
      const [runs] = status?.components ?? []
      const order = hasOpenSwitch({ spec, status }) ? ' with an order' : ''
      return `${told?.version} told${order}, ${runs?.version} ${runs?.state}, ${status?.phase}`
    }),
  )

/** What a story came to, as far as it can be told apart from any other run of it. */
export const outcomeOf = (
  set: MachineComponentSet | undefined,
  machines: readonly Machine[],
  canaries: readonly ComponentCanary[],
) => {
  const { phase, revisions, counts } = set?.status ?? {}
  return {
    phase,
    blocked: revisions?.blocked?.filter((b) => b.revision === revisions.update).map((b) => b.component) ?? [],
    counts,
    machines: machinesIn(machines),
    canaries: canaries.map((c) => c.status?.phase),
  }
}

function state(world: World): unknown {
  const set = setOf(world)
  const { revisions, slices = [] } = set?.status ?? {}
  return {
    outcome: outcomeOf(
      set,
      world.fake.all(machineType) as readonly Machine[],
      world.fake.all(componentCanary) as readonly ComponentCanary[],
    ),
    revisions: [revisions?.current, revisions?.update],
    openSlices: slices.filter((w) => !['Passed', 'Failed', 'Aborted'].includes(w.phase)).length,
    openPermits: openPermits(world).length,
    slots: ledgerOf(world)?.spec.grants?.length ?? 0,
  }
}

/** However it ended: nothing is left open, and no machine is given up. */
function rest(world: World): unknown {
  const machines = world.fake.all(machineType) as readonly Machine[]
  return {
    openPermits: openPermits(world).length,
    slots: ledgerOf(world)?.spec.grants?.length ?? 0,
    rebooting: machines.filter((m) => rebooting(m) !== undefined).length,
    powerCycles: machines.filter((m) => m.status?.powerCycle !== undefined).length,
    broken: machines.flatMap(({ status }) =>
      status?.phase === 'Ready' && ['Healthy', 'RolledBack', 'Staged'].includes(status.components?.[0]?.state ?? '')
        ? []
        : `${status?.phase} ${status?.components?.[0]?.state}`,
    ),
  }
}

function tally(lines: readonly string[]): Readonly<Record<string, number>> {
  const counts: Record<string, number> = {}
  for (const line of lines.toSorted()) counts[line] = (counts[line] ?? 0) + 1
  return counts
}

/** `rested`: where machines begin at rest; without it they are brought there in each run. */
export const rolloutSimulation = (
  story: Story,
  parts: ControllerParts = {},
  scale: Scale = SEED_SCALE,
  rested?: Rested,
): Simulation => {
  let agents = new Agents(scale)
  let watcher = new Watcher(scale.limit)
  let chronicle = new Chronicle(agents)
  return {
    kinds,
    actors: () => {
      agents = new Agents(scale)
      watcher = new Watcher(scale.limit)
      chronicle = new Chronicle(agents)
      return [agentsActor(agents), controllersActor(agents, parts), defenderActor()]
    },
    phases: story
      .phases(() => agents)
      .map(({ act, ...phase }) => ({
        ...phase,
        act: (world) =>
          act(world, {
            plantFleet: (a, start) => plantFleet(world, a, start, rested),
            plantMachine: (a, i, version) => plantMachine(world, a, { i, version, isMember: true }, rested),
          }),
      })),
    invariants: {
      ...Object.fromEntries(
        Object.keys(watcher.all)
          .filter((name) => name !== BLAMES || story.mayBlame !== true)
          .map((name): [string, Invariant] => [name, (c, world) => watcher.all[name]?.(c, world)]),
      ),
      chronicle: (commit, world) => chronicle.hear(commit, world),
      'a machine reboots under a permit for it, within the limit, once forward and once back': (_, world) =>
        agents.reboots.problem(world, scale.limit),
    },
    state: story.mayBlame === true ? rest : state,
    counted: ['apps/controllerrevisions'],
    heartbeats: ['coordination.k8s.io/leases'],
    faultyMs: FAULTY_MS,
    settleMs: story.settleMs ?? SETTLE_MS,
    restMs: REST_MS,
    quietMs: QUIET_MS,
    mostSteps: MOST_STEPS,
    isPending: (world) => agents.reboots.isPending || (ledgerOf(world)?.spec.blames ?? []).some((b) => isPlace(b)),
  }
}

const ROLLOUT_FAULTS: readonly FaultKind[] = [
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

/** Writes of a phase: a crash may come anywhere among them, not only at its beginning. */
const WRITES = 250
const ACTORS = ['controllers', 'defender']

export function faultsFor(seed: number, phases: readonly string[], kinds_: readonly FaultKind[] = ROLLOUT_FAULTS) {
  const random = seededRandom(seed * 104_729 + 11)
  const byPhase = new Map(
    phases.map((name) => [name, drawFaults(random, ACTORS, kinds_, FAULTY_MS).map((f) => spread(f))]),
  )
  return (phase: string): readonly SimFault[] => byPhase.get(phase) ?? []
  function spread(fault: SimFault): SimFault {
    if (fault.kind !== 'Crash' && fault.kind !== 'LostReply') return fault
    return { ...fault, write: random.below(2) === 0 ? fault.write : 1 + random.below(WRITES) }
  }
}

interface Reference {
  readonly run: Run
  /** In words. */
  readonly lines: readonly string[]
}

/** The run without faults, made once for each story and scale. */
const references = new Map<string, Promise<Reference>>()
export function referenceOf(story: Story, scale: Scale = SEED_SCALE): Promise<Reference> {
  const key = `${story.name} ${scale.machines}`
  const known = references.get(key) ?? makeReference(story, scale)
  references.set(key, known)
  return known
}

async function makeReference(story: Story, scale: Scale): Promise<Reference> {
  const teller = new Teller()
  const simulation = rolloutSimulation(story, {}, scale, await restedMachines())
  const phases = simulation.phases.map((phase) => ({
    ...phase,
    act: (world: World) => {
      teller.heading(phase.name)
      phase.act(world)
    },
  }))
  const hears: Invariant = (commit) => {
    teller.hear(commit)
    return undefined
  }
  const run = await referenceRun({ ...simulation, phases, invariants: { ...simulation.invariants, hears } })
  return { run, lines: teller.lines() }
}

export const storyOf = (seed: number): Story => stories[seed % stories.length] ?? (stories[0] as Story)

export async function runSeed(
  seed: number,
  { story = storyOf(seed), parts = {}, faults = ROLLOUT_FAULTS, scale = SEED_SCALE }: RunOptions = {},
): Promise<Run> {
  const simulation = rolloutSimulation(story, parts, scale, await restedMachines())
  const phases = simulation.phases.map((p) => p.name)
  return simulate(simulation, seed, {
    reference: (await referenceOf(story, scale)).run,
    faults: faultsFor(seed, phases, faults),
  })
}

export interface RunOptions {
  readonly story?: Story
  readonly parts?: ControllerParts
  readonly faults?: readonly FaultKind[]
  readonly scale?: Scale
}

export const describeSeed = (run: Run, story: Story): string => `story «${story.name}», ${describeRun(run)}`
