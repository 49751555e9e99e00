// A machine whose orders a person deletes while its step is inspected gets them again, and the rollout comes to its end.
import { seeds } from '#test/support/clocks/scheduler.ts'
import { inFull } from '#test/support/tools/full.ts'
import { expect, test } from 'vitest'
import { SEED_SCALE } from './fleet.ts'
import { ordersEmptied } from './set-stories.ts'
import { describeSeed, referenceOf, runSeed } from './simulation.ts'

const SEEDS = inFull(300, 4)

test('F45 a machine that is emptied while its step is inspected gets the version again', async () => {
  const { states, violations } = (await referenceOf(ordersEmptied)).run
  expect(violations).toEqual([])
  expect(states.at(-1)).toMatchObject({
    outcome: {
      phase: 'Complete',
      machines: { '1.1.0 told, 1.1.0 Healthy, Ready': SEED_SCALE.machines },
    },
  })
}, 600_000)

test(`F45 in ${SEEDS} seeds it ends as the run without faults does`, async () => {
  for (const seed of seeds(SEEDS)) {
    const run = await runSeed(seed, { story: ordersEmptied })
    if (run.violations.length > 0) throw new Error(describeSeed(run, ordersEmptied))
  }
}, 3_600_000)
