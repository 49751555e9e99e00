// A set and a canary that ask in the same second keep the set's limit together, whatever their caches show: the Defender's ledger decides.
import { seeds } from '#test/support/clocks/scheduler.ts'
import { inFull } from '#test/support/tools/full.ts'
import { expect, test } from 'vitest'
import { canaryAndBump } from './set-stories.ts'
import { describeSeed, referenceOf, runSeed } from './simulation.ts'

const SEEDS = inFull(300, 4)

test('F18 a canary and a bump in the same second both come to their end', async () => {
  const { states, violations } = (await referenceOf(canaryAndBump)).run
  expect(violations).toEqual([])
  expect(states.at(-1)).toMatchObject({ outcome: { phase: 'Complete' }, openPermits: 0 })
}, 600_000)

test(`F18 in ${SEEDS} seeds they keep the limit of the set together`, async () => {
  for (const seed of seeds(SEEDS)) {
    const run = await runSeed(seed, { story: canaryAndBump })
    if (run.violations.length > 0) throw new Error(describeSeed(run, canaryAndBump))
  }
}, 3_600_000)
