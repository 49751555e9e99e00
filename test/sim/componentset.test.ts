// The set controller on the harness: it may die around any write, see old caches and be refused, and the rollout ends as if nothing had gone wrong.
import { describe, expect, test } from 'vitest'
import { inFull } from '#test/support/tools/full.ts'
import { mutantSeeds, seeds } from '#test/support/clocks/scheduler.ts'
import { checkEveryWrite, checkSeeds, firstViolation, referenceRun } from './harness.ts'
import { hasty, setMutants, setSimulation } from './componentset-world.ts'

const SEEDS = inFull(40, 2)

describe('the set controller', () => {
  test('without faults it brings every machine to what each phase declares', async () => {
    const { states } = await referenceRun(setSimulation())
    const phases = states.map((s) => (s as { readonly set: { readonly phase?: string } }).set.phase)
    expect(phases).toEqual(['Complete', 'Complete', 'Blocked', ...Array.from({ length: 5 }, () => 'Complete')])
  })

  test('F1 F2: it may die before and after any single write, and lose the reply of any', async () => {
    expect(await checkEveryWrite(hasty(setSimulation()), 'componentset')).toBeGreaterThan(35)
  }, 900_000)

  test(`F1–F8, F11, F18: whatever goes wrong, ${SEEDS} seeds end as if nothing had`, async () => {
    await checkSeeds(setSimulation(), seeds(SEEDS))
  })
})

describe('a planted bug', () => {
  const correct = setSimulation()
  test.each(setMutants)('is found: $name (within $within seeds)', async ({ parts, faults, within, shownBy }) => {
    const found = await firstViolation(setSimulation(parts, faults), correct, mutantSeeds(within, shownBy))
    expect(found).toBeDefined()
  })
})
