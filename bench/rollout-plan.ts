// One reconcile of a set of 10,000 machines with 12 components: the planner alone, at rest and in the middle of a rollout, and the longest reconcile of a whole
// ladder, including the first one after a start. Each time is wall-clock or processor time, whichever is less: that leaves out only the turns of other
// processes on a shared machine.
import { jsonEqual } from '#lib/json.ts'
import { systemClock } from '#lib/system-clock.ts'
import { ReadingMemo } from '#controllers/componentset/members/members.ts'
import { plan } from '#controllers/componentset/plan.ts'
import { component, componentSet, workingMachine } from '#test/support/fleets/rollout-fleet.ts'
import { RolloutModel } from '#test/support/fleets/rollout-model.ts'
import { median, rounded } from './result.ts'
import type { BenchOptions, BenchResult, Figures } from './result.ts'

const MACHINES = 10_000
const COMPONENTS = 12
const ROUNDS = 15
const WARM_UP_MACHINES = 500
/** From the first machine to steps with slices of a hundred for each component. */
const TURNS = 60
/** Moves of a machine between two reconciles of the set: assigned, fetched, staged, ordered, switched, probed. */
const MOVES = 6

export const smoke: Figures = { machines: 20, components: 2 }

export async function run({ numbers }: BenchOptions): Promise<BenchResult> {
  const count = numbers['machines'] ?? MACHINES
  const names = Array.from({ length: numbers['components'] ?? COMPONENTS }, (_, i) => `component-${i}`)
  // A process has compiled its code long before its ten thousandth machine; a small fleet does that here.
  if (count > WARM_UP_MACHINES) climb(WARM_UP_MACHINES, names)
  const { model, atRest, turns, afterStart } = climb(count, names)
  return {
    figures: {
      plan_ms: rounded(median(timings(model, ROUNDS))),
      plan_at_rest_ms: rounded(median(atRest)),
      plan_after_start_ms: rounded(afterStart),
      median_reconcile_ms: rounded(median(turns)),
      max_reconcile_ms: rounded(Math.max(...turns, afterStart)),
      machines: count,
      components: names.length,
      turns: TURNS,
      open_slices: (model.set.status?.slices ?? []).filter((w) => w.phase !== 'Passed').length,
      updated: model.versions(names[0] ?? '')['1.1.0'] ?? 0,
    },
    peer: null,
    ratio: {},
  }
}

interface Climb {
  readonly model: RolloutModel
  readonly atRest: readonly number[]
  readonly turns: readonly number[]
  readonly afterStart: number
}

function climb(count: number, names: readonly string[]): Climb {
  const at = (version: string) => Object.fromEntries(names.map((n) => [n, version]))
  const machines = Array.from({ length: count }, (_, i) =>
    workingMachine(`machine-${String(i).padStart(5, '0')}`, {
      versions: at('1.0.0'),
      zone: `zone-${i % 3}`,
      rack: `rack-${i % 200}`,
      class: `class-${i % 5}`,
    }),
  )
  const components = names.flatMap((n) => ['1.0.0', '1.1.0'].map((v) => component(n, v)))
  const model = new RolloutModel({ machines, set: componentSet(at('1.0.0'), { soak: '10m' }), components })
  const atRest = timings(model, ROUNDS)
  model.planTurn()
  model.declare(at('1.1.0'))
  const turns: number[] = []
  for (let turn = 0; turn < TURNS; turn++) {
    const before = model.set.status
    let look = 0
    const ms = spent(() => {
      const made = model.planTurn()
      // The controller writes a status only when it differs.
      jsonEqual(before, made.status)
      look = made.requeueAfter ?? 1_000
    })
    turns.push(ms)
    model.defender()
    for (const name of touched(model))
      for (let move = 0; move < MOVES; move++) {
        model.machineController(name)
        model.agent(name)
      }
    model.now += Math.max(look, untilSoaked(model))
  }
  return { model, atRest, turns, afterStart: spentOn({ ...model.seen(), memo: new ReadingMemo() }, model.now) }
}

/** When nothing but time is waited for, it passes at once. */
function untilSoaked({ set, now }: RolloutModel): number {
  const open = (set.status?.slices ?? []).filter((w) => w.phase !== 'Passed')
  const ends = open.map((w) => (w.phase === 'Soaking' ? Date.parse(w.soakUntil ?? '') - now : 0))
  return ends.length > 0 && ends.every((e) => e > 0) ? Math.max(...ends) : 0
}

const spentOn = (seen: Parameters<typeof plan>[0], now: number): number => spent(() => void plan(seen, now))

function spent(work: () => void): number {
  const startedAt = systemClock.monotonic()
  const before = process.cpuUsage()
  work()
  const { user, system } = process.cpuUsage(before)
  return Math.min(systemClock.monotonic() - startedAt, (user + system) / 1_000)
}

const touched = (model: RolloutModel): readonly string[] => [
  ...new Set((model.set.status?.slices ?? []).filter((w) => w.phase !== 'Passed').flatMap((w) => w.machines)),
]

const timings = (model: RolloutModel, rounds: number): readonly number[] =>
  Array.from({ length: rounds }, () => spentOn(model.seen(), model.now))
