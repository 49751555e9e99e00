// What holds for every rollout, whatever happens to it.
import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import { seededRandom } from '#lib/random.ts'
import { plan } from './plan.ts'
import { chaos } from '#test/support/fleets/rollout-chaos.ts'
import { fleet } from '#test/support/fleets/rollout-story.ts'
import { inFull } from '#test/support/tools/full.ts'

/** The simulations run many more seeds. These run on every save. */
const RUNS = inFull(6, 2)

describe('every rollout', () => {
  test('stays within its budget, disturbs nothing unknown, always says why it waits, and ends at what is declared', () => {
    fc.assert(
      fc.property(fc.integer({ min: 0, max: 1_000_000 }), (seed) => {
        expect(chaos(seededRandom(seed))).toBeUndefined()
      }),
      { numRuns: RUNS },
    )
  })

  test('that has come to an end plans nothing more, and the same status again', () => {
    const versions = fc.constantFrom('1.0.0', '1.1.0', '1.2.0')
    const declared = fc.record({ beacon: versions, scribe: versions }, { requiredKeys: [] })
    fc.assert(
      fc.property(fc.integer({ min: 1, max: 8 }), declared, declared, fc.boolean(), (count, from, to, isBad) => {
        const model = fleet(count, {
          versions: from,
          quality: (_, v) => (isBad && v === '1.2.0' ? 'probe fails' : 'good'),
        })
        model.declare(to)
        model.settle()
        const { actions, status, requeueAfter } = plan(model.seen(), model.now)
        expect([actions, status, requeueAfter]).toEqual([[], model.set.status, undefined])
      }),
      { numRuns: 2 * RUNS },
    )
  })
})
