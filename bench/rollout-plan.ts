// One look at a set of 10,000 machines with 12 components: the planner alone, at rest and in the middle of a rollout, and the longest reconcile of a whole ladder.
import { systemClock } from '#lib/clock.ts'
import { plan } from '#controllers/componentset/plan.ts'
import { component, componentSet, workingMachine } from '#test/support/rollout-fleet.ts'
import { RolloutModel } from '#test/support/rollout-model.ts'
import { median, rounded } from './result.ts'
import type { BenchOptions, BenchResult } from './result.ts'

const MACHINES = 10_000
const COMPONENTS = 12
const ROUNDS = 15
const WARM_UP_MACHINES = 500
/** Of the rollout in the middle: enough for several steps with open slices. */
const TURNS = 40

export async function run({ numbers }: BenchOptions): Promise<BenchResult> {
  const count = numbers['machines'] ?? MACHINES
  // A process has compiled its code long before its ten thousandth machine; a small fleet does that here.
  if (count > WARM_UP_MACHINES) await run({ numbers: { ...numbers, machines: WARM_UP_MACHINES } })
  const names = Array.from({ length: numbers['components'] ?? COMPONENTS }, (_, i) => `component-${i}`)
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

  const reconciles: number[] = []
  const cpus: number[] = []
  for (let turn = 0; turn < TURNS; turn++) {
    const startedAt = systemClock.monotonic()
    const cpu = process.cpuUsage()
    const made = model.planTurn()
    reconciles.push(systemClock.monotonic() - startedAt)
    cpus.push(cpuSince(cpu))
    model.defender()
    for (const name of touched(model))
      for (let move = 0; move < 6; move++) {
        model.machineController(name)
        model.agent(name)
      }
    model.now += made.requeueAfter ?? 1_000
  }
  const inRollout = timings(model, ROUNDS)
  return {
    figures: {
      plan_ms: rounded(median(inRollout)),
      plan_at_rest_ms: rounded(median(atRest)),
      max_reconcile_ms: rounded(Math.max(...reconciles)),
      // On a busy machine the wall clock counts the turns of others too.
      median_reconcile_cpu_ms: rounded(median(cpus)),
      max_reconcile_cpu_ms: rounded(Math.max(...cpus)),
      machines: count,
      components: names.length,
      open_slices: (model.set.status?.waves ?? []).filter((w) => w.phase !== 'Passed').length,
      updated: model.versions(names[0] ?? '')['1.1.0'] ?? 0,
    },
    peer: null,
    ratio: {},
  }
}

const cpuSince = (before: NodeJS.CpuUsage): number => {
  const { user, system } = process.cpuUsage(before)
  return (user + system) / 1_000
}

const touched = (model: RolloutModel): readonly string[] => [
  ...new Set((model.set.status?.waves ?? []).filter((w) => w.phase !== 'Passed').flatMap((w) => w.machines)),
]

function timings(model: RolloutModel, rounds: number): readonly number[] {
  return Array.from({ length: rounds }, () => {
    const seen = model.seen()
    const startedAt = systemClock.monotonic()
    plan(seen, model.now)
    return systemClock.monotonic() - startedAt
  })
}
