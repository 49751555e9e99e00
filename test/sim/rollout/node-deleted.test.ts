// A machine that served is no newcomer because its Node was deleted: it counts as unavailable, gets the next version, and takes pods again.
import { seeds } from '#test/support/clocks/scheduler.ts'
import { inFull } from '#test/support/tools/full.ts'
import { expect, test } from 'vitest'
import { SEED_SCALE } from './fleet.ts'
import { nodeDeleted } from './set-stories.ts'
import { describeSeed, referenceOf, runSeed } from './simulation.ts'

const SEEDS = inFull(300, 4)

test('F45 a machine whose Node is deleted while a bad version probes is back in service with the version before', async () => {
  const { states } = (await referenceOf(nodeDeleted)).run
  expect(states.at(-1)).toMatchObject({
    outcome: {
      phase: 'Complete',
      machines: { '1.0.0 told, 1.0.0 Healthy, Ready': SEED_SCALE.machines },
    },
  })
}, 600_000)

test(`F45 in ${SEEDS} seeds it ends as the run without faults does`, async () => {
  for (const seed of seeds(SEEDS)) {
    const run = await runSeed(seed, { story: nodeDeleted })
    if (run.violations.length > 0) throw new Error(describeSeed(run, nodeDeleted))
  }
}, 3_600_000)
