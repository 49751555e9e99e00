// Random lives of rollouts, many of them: what must hold of every plan, and that each planted bug is found.
import { describe, expect, test } from 'vitest'
import { inFull } from '#test/support/tools/full.ts'
import { seededRandom } from '#lib/random.ts'
import { chaos } from '#test/support/fleets/rollout-chaos.ts'
import { plantedRules } from '#test/support/fleets/rollout-mutants.ts'
import { mutantSeeds, seeds } from '#test/support/clocks/scheduler.ts'

const SEEDS = inFull(120, 6)

describe('F18, F20: a rollout among machines that die, people who edit and permits that end', () => {
  test(`holds to its rules in ${SEEDS} seeds`, () => {
    for (const seed of seeds(SEEDS)) expect([seed, chaos(seededRandom(seed))]).toEqual([seed, undefined])
  })
})

describe('a planted bug', () => {
  test.each(plantedRules)('is found: $name (within $within seeds)', ({ rules, within, shownBy }) => {
    const found = mutantSeeds(within, shownBy).find((seed) => chaos(seededRandom(seed), { rules }) !== undefined)
    expect(found).toBeDefined()
  })
})
