// The repair of silence: one machine gets its power cut and comes back, a place that is silent as a whole is left alone, whatever goes wrong meanwhile.
import { seeds } from '#test/support/clocks/scheduler.ts'
import { expect, test } from 'vitest'
import { checkEveryWrite, checkSeeds, referenceRun } from '../harness.ts'
import { HASTY, jobsOf, silencePhases, silenceSimulation } from './silence.ts'
import { inFull } from '#test/support/tools/full.ts'

test('F20 a machine that alone falls silent is rebooted under the shipped rule; a rack, and a third of all, are not touched', async () => {
  const simulation = silenceSimulation()
  let jobs: readonly string[] = []
  const { states } = await referenceRun({
    ...simulation,
    state: (world) => {
      jobs = jobsOf(world)
      return simulation.state?.(world)
    },
  })
  expect(states.map((s, n) => `${silencePhases[n]?.name}: ${JSON.stringify(s)}`)).toMatchInlineSnapshot(`
    [
      "all are heard of: {"silent":[],"cut":[],"open":[],"held":0}",
      "one machine falls silent: {"silent":[],"cut":["n0"],"open":[],"held":0}",
      "a rack falls silent: {"silent":["n4","n5","n6","n7"],"cut":["n0"],"open":[],"held":0}",
      "the rack is heard again: {"silent":[],"cut":["n0"],"open":[],"held":0}",
      "one in each rack and one more: {"silent":["n1","n10","n5","n9"],"cut":["n0"],"open":[],"held":0}",
      "they are heard again: {"silent":[],"cut":["n0"],"open":[],"held":0}",
    ]
  `)
  expect(jobs).toContain('n0 rung 2 Succeeded')
})

const SEEDS = inFull(1_000, 0)
/** A clock that is set back by two hours; a grant whose telling is refused. */
const HARD = process.env['SIM_SEED'] === undefined ? [59, 255] : []

test(
  `F16 F20 ${SEEDS} seeds of faults, and two hard ones, end as if nothing had gone wrong`,
  { timeout: inFull(7_200_000, 600_000) },
  async () => {
    await checkSeeds(silenceSimulation(), new Set([...HARD, ...seeds(SEEDS)]))
  },
)

test(
  'F1 F2 the controllers may die before and after any write of that repair: the power is cut, and only there',
  { timeout: 600_000 },
  async () => {
    const simulation = silenceSimulation(['all are heard of', 'one machine falls silent'], HASTY)
    expect(await checkEveryWrite(simulation, 'controllers')).toBeGreaterThan(10)
  },
)
