// What holds of every rollout, whatever happens to it.
import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import { seededRandom } from '#lib/random.ts'
import { chaos } from '#test/support/rollout-chaos.ts'

/** Many more seeds run in the simulations; these are for each save. */
const RUNS = 6

describe('every rollout', () => {
  test('stays within its budget, disturbs nothing unknown, always says why it waits, and ends at what is declared', () => {
    fc.assert(
      fc.property(fc.integer({ min: 0, max: 1_000_000 }), (seed) => {
        expect(chaos(seededRandom(seed))).toBeUndefined()
      }),
      { numRuns: RUNS },
    )
  })
})
