// Runs a scenario phase by phase, once without faults (the reference) and then per seed with them, and holds the runs against the oracles:
// O1 same end state, O2 same objects made and deleted, O3 invariants at every write, O5 settles and stops writing, O9 replays byte-equal.
import { canonicalJson } from '#lib/json.ts'
import { type Random, seededRandom } from '#lib/random.ts'
import type { FakeKind } from '#test/doubles/kube/kinds.ts'
import type { Call } from '#test/doubles/kube/faults.ts'
import type { Commit } from '#test/doubles/kube/revisions.ts'
import { type Counts, countDifference, countsOf, stateOf, stateDifference } from './oracles.ts'
import { type Actor, actorOf } from './process.ts'
import { ALL_FAULTS, type FaultKind, type SimFault, drawFaults, inject } from './sim-faults.ts'
import { World } from './world.ts'
import { isFull } from '#test/support/tools/full.ts'

/** What a person does, and then waits for. */
export interface Phase {
  readonly name: string
  readonly act: (world: World) => void
  /** `AtMost` where who sees the middle of a phase rightly does more than who sees only its end. */
  readonly counts?: 'Equal' | 'AtMost'
}

/** Answers what is wrong with the world right after this write, or undefined. */
export type Invariant = (commit: Commit, world: World) => string | undefined

export interface Simulation {
  readonly kinds: readonly FakeKind[]
  readonly actors: () => readonly Actor[]
  readonly phases: readonly Phase[]
  readonly invariants?: Readonly<Record<string, Invariant>>
  readonly faults?: readonly FaultKind[]
  /** Virtual time of a phase in which faults happen. */
  readonly faultyMs?: number
  /** Virtual time in which everything must settle once the faults are over, and after which nothing may write. */
  readonly settleMs?: number
  /** Virtual time without a write that counts as rest. */
  readonly restMs?: number
  /** Of a phase; more than the default where hours pass in it. */
  readonly mostSteps?: number
  /** A phase is over as soon as nothing was written for so long; the default is to wait for all of `settleMs` and `restMs`. */
  readonly quietMs?: number
  /** The story still has something to do in this phase: then it is not over, however quiet it is. */
  readonly isPending?: (world: World) => boolean
  /** What the end state is; the default is every object without what differs by nature (uids, versions, times). */
  readonly state?: (world: World) => unknown
  /** Kinds (`group/plural`) whose makings and deletions must equal the reference's; the default is the given kinds. */
  readonly counted?: readonly string[]
  /** Writes that are no sign of restlessness, such as lease renewals (`group/plural`). */
  readonly heartbeats?: readonly string[]
}

export interface Violation {
  readonly oracle: 'O1' | 'O2' | 'O3' | 'O5' | 'O9'
  readonly phase: string
  readonly message: string
}

export interface Run {
  readonly seed: number
  readonly faults: readonly (readonly SimFault[])[]
  readonly states: readonly unknown[]
  readonly counts: readonly Counts[]
  /** Calls that write, by phase. */
  readonly writes: readonly (readonly Call[])[]
  readonly violations: readonly Violation[]
  /** What happened, and how often. */
  readonly happened: Readonly<Record<string, number>>
  readonly trace: readonly string[]
  readonly digest: string
}

const DEFAULT_FAULTY_MS = 20_000
const DEFAULT_SETTLE_MS = 600_000
/** Two full rounds of the longest backoff. */
const DEFAULT_REST_MS = 600_000
/** A phase of a well-behaved controller takes some thousand steps; one that needs this many is looping. */
const MOST_STEPS = 30_000

/** What to hold a run against, and which faults it gets: drawn from its seed unless they are given. */
export interface Trial {
  readonly reference: Pick<Run, 'states' | 'counts'>
  readonly faults?: (phase: string) => readonly SimFault[]
}

/** One run; without a trial it has no faults and becomes a reference. */
export async function simulate(simulation: Simulation, seed: number, trial?: Trial): Promise<Run> {
  const { kinds, phases, faultyMs = DEFAULT_FAULTY_MS, mostSteps = MOST_STEPS } = simulation
  const world = new World(seed, kinds, simulation.quietMs === undefined ? [] : simulation.heartbeats)
  const random = seededRandom(seed + 7_919)
  const violations: Violation[] = []
  const run = {
    faults: [] as (readonly SimFault[])[],
    states: [] as unknown[],
    counts: [] as Counts[],
    writes: [] as (readonly Call[])[],
  }
  let phase = ''
  world.fake.onCommit((commit) => violations.push(...brokenBy(simulation, commit, world, phase)))
  for (const actor of simulation.actors()) world.start(actor)

  for (const { name, act, counts = 'Equal' } of phases) {
    phase = name
    const from = world.commits.length
    const writesFrom = world.writes.length
    const faults = trial === undefined ? [] : (trial.faults?.(name) ?? drawn(simulation, world, random))
    world.scheduler.note(`phase ${name}: ${JSON.stringify(faults)}`)
    const heal = inject(world, faults, random)
    act(world)
    const ran = await world.scheduler.run({ forMs: faultyMs, mostSteps })
    // Faults cost tries, and no storm of them: a loop without a pause shows here before anything else.
    if (ran === 'Steps' && simulation.mostSteps !== undefined)
      violations.push({
        oracle: 'O5',
        phase: name,
        message: `${mostSteps} steps while faults last: it asks without a pause`,
      })
    heal()
    world.scheduler.note('healed')
    violations.push(...(await restless(simulation, world, name)))
    run.faults.push(faults)
    run.writes.push(world.writes.slice(writesFrom))
    run.states.push(simulation.state?.(world) ?? stateOf(world, kinds))
    run.counts.push(
      countsOf(world.commits.slice(from), simulation.counted ?? kinds.map((k) => `${k.type.group}/${k.type.plural}`)),
    )
    if (trial !== undefined) violations.push(...differences(trial.reference, run, name, counts))
    if (violations.length > 0) break
  }
  const trace = world.scheduler.trace()
  return { seed, ...run, violations, happened: world.happened(), trace, digest: world.scheduler.digest() }
}

function drawn(simulation: Simulation, world: World, random: Random): readonly SimFault[] {
  const names = world.actors.filter((a) => a.isFaulty !== false).map((a) => a.name)
  return drawFaults(random, names, simulation.faults ?? ALL_FAULTS, simulation.faultyMs ?? DEFAULT_FAULTY_MS)
}

function brokenBy({ invariants = {} }: Simulation, commit: Commit, world: World, phase: string): Violation[] {
  return Object.entries(invariants).flatMap(([name, invariant]) => {
    const message = invariant(commit, world)
    return message === undefined ? [] : [{ oracle: 'O3' as const, phase, message: `${name}: ${message}` }]
  })
}

/** O5: settles within its time, and then rests. */
async function restless(simulation: Simulation, world: World, phase: string): Promise<Violation[]> {
  const { settleMs = DEFAULT_SETTLE_MS, restMs = DEFAULT_REST_MS, quietMs = Infinity, heartbeats = [] } = simulation
  const { mostSteps = MOST_STEPS } = simulation
  const until = () => world.quietMs >= quietMs && simulation.isPending?.(world) !== true
  const settling = await world.scheduler.run({ forMs: settleMs, mostSteps, until })
  if (settling === 'Until') return []
  const from = world.writes.length
  const resting = settling === 'Steps' ? settling : await world.scheduler.run({ forMs: restMs, mostSteps })
  if (resting === 'Steps')
    return [{ oracle: 'O5', phase, message: `still busy after ${mostSteps} steps without a fault` }]
  const writes = world.writes.slice(from).filter(({ type }) => !heartbeats.includes(`${type?.group}/${type?.plural}`))
  const [first] = writes
  if (first === undefined) return []
  const what = `${first.actor} ${first.verb} ${first.type?.plural ?? 'raw'}/${first.name ?? ''}`
  return [
    {
      oracle: 'O5',
      phase,
      message: `${writes.length} writes after all had ${settleMs} ms to settle, the first: ${what}`,
    },
  ]
}

function differences(
  reference: Trial['reference'],
  run: Trial['reference'],
  phase: string,
  mode: 'Equal' | 'AtMost',
): Violation[] {
  const at = run.states.length - 1
  const state = stateDifference(reference.states[at], run.states[at])
  if (state !== undefined) return [{ oracle: 'O1', phase, message: state }]
  const counts = countDifference(reference.counts[at] ?? {}, run.counts[at] ?? {}, mode)
  return counts === undefined ? [] : [{ oracle: 'O2', phase, message: counts }]
}

/** The run without faults. It must itself be clean, or nothing can be held against it. */
export async function referenceRun(simulation: Simulation): Promise<Run> {
  const reference = await simulate(simulation, 0)
  if (reference.violations.length > 0) throw new Error(`the reference run fails: ${describeRun(reference)}`)
  return reference
}

/** Every seed must be clean; each tenth is run twice to see that it replays byte for byte. */
export async function checkSeeds(simulation: Simulation, seeds: Iterable<number>): Promise<void> {
  const reference = await sharedReference(simulation)
  for (const seed of seeds) {
    const run = await simulate(simulation, seed, { reference })
    if (run.violations.length > 0) throw new Error(describeRun(run))
    if (seed % 10 !== 0) continue
    const again = await simulate(simulation, seed, { reference })
    if (again.digest !== run.digest)
      throw new Error(`O9: seed ${seed} does not replay: ${firstDifference(run.trace, again.trace)}`)
  }
}

/**
 * F1 and F2 without luck: the actor dies before and after each single write of the reference run, and loses the reply of each. The quick run tries one of
 * the three, in turn, at every `quickWrites`th write, and ends with the phase that follows. Answers how many writes there are.
 */
export async function checkEveryWrite(
  simulation: Simulation,
  actor: string,
  quickWrites: number = QUICK_WRITES,
): Promise<number> {
  const reference = await sharedReference(simulation)
  let total = 0
  for (const [at, { name }] of simulation.phases.entries()) {
    const phases = isFull ? simulation.phases : simulation.phases.slice(0, at + 2)
    const writes = reference.writes[at]?.filter((call) => actorOf(call.actor) === actor).length ?? 0
    total += writes
    for (let write = 1; write <= writes; write += isFull ? 1 : quickWrites) {
      for (const fault of aroundWrite(actor, write)) {
        const faults = (phase: string) => (phase === name ? [fault] : [])
        const run = await simulate({ ...simulation, phases }, 0, { reference, faults })
        if (run.violations.length > 0) throw new Error(describeRun(run))
      }
    }
  }
  return total
}

/** No multiple of three, or each write would get the same of the three faults. */
const QUICK_WRITES = 4

function aroundWrite(actor: string, write: number): readonly SimFault[] {
  const all: readonly SimFault[] = [
    { kind: 'Crash', actor, write, when: 'before' },
    { kind: 'Crash', actor, write, when: 'after' },
    { kind: 'LostReply', actor, write },
  ]
  return isFull ? all : all.filter((_, i) => i === (write - 1) % all.length)
}

const references = new WeakMap<Simulation, Promise<Run>>()
/** Made once for each simulation. */
export function sharedReference(simulation: Simulation): Promise<Run> {
  const known = references.get(simulation) ?? referenceRun(simulation)
  references.set(simulation, known)
  return known
}

/** The first violation that a planted bug shows, or undefined when no seed shows one. A reference that fails is found too. */
export async function firstViolation(
  simulation: Simulation,
  correct: Simulation,
  seeds: Iterable<number>,
  /** Puts a bug into the program itself, after the reference run; what it returns takes it out again. */
  plant: () => () => void = () => () => undefined,
): Promise<{ readonly seed: number; readonly violation: Violation } | undefined> {
  const reference = await sharedReference(correct)
  const takeOut = plant()
  try {
    for (const seed of seeds) {
      const [violation] = (await simulate(simulation, seed, { reference })).violations
      if (violation !== undefined) return { seed, violation }
    }
    return undefined
  } finally {
    takeOut()
  }
}

const TRACE_SHOWN = 60

/** What a person needs to look into it: the seed first. */
export function describeRun({ seed, faults, violations, trace }: Run): string {
  const lines = violations.slice(0, 5).map((v) => `  ${v.oracle} in phase ${v.phase}: ${v.message}`)
  return [
    `seed ${seed} (again with SIM_SEED=${seed}):`,
    ...lines,
    `  faults: ${canonicalJson(faults.at(-1) ?? [])}`,
    `  the last of ${trace.length} steps:`,
    ...trace.slice(-TRACE_SHOWN).map((t) => `    ${t}`),
  ].join('\n')
}

function firstDifference(a: readonly string[], b: readonly string[]): string {
  const at = a.findIndex((line, i) => line !== b[i])
  return at < 0 ? `lengths ${a.length} and ${b.length}` : `step ${at}: ${a[at]} against ${b[at] ?? 'the end'}`
}
