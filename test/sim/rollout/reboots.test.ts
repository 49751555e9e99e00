// Rollouts of a version that reboots its machines: under permits, within the limit, at most once forward and once back, and they end as without faults do.
import { expect, test } from 'vitest'
import { inFull } from '#test/support/tools/full.ts'
import { seeds } from '#test/support/clocks/scheduler.ts'
import { SMALL_SCALE } from './fleet.ts'
import { describeSeed, referenceOf, runSeed } from './simulation.ts'
import { rebooted as story } from './stories.ts'

const SEEDS = inFull(50, 2)

test('each phase ends as people expect: complete, or blocked after its first machine', async () => {
  const { states } = (await referenceOf(story, SMALL_SCALE)).run
  expect(states).toMatchObject(['Complete', 'Complete', 'Blocked', 'Complete'].map((phase) => ({ outcome: { phase } })))
})

test(`F18 ${SEEDS} seeds end as the run without faults does`, async () => {
  for (const seed of seeds(SEEDS)) {
    const run = await runSeed(seed, { story, scale: SMALL_SCALE })
    if (run.violations.length > 0) throw new Error(describeSeed(run, story))
  }
}, 3_600_000)
