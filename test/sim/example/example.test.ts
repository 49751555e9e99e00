import { seeds } from '#test/support/clocks/scheduler.ts'
import { inFull } from '#test/support/tools/full.ts'
import { describe, expect, test } from 'vitest'
import { checkEveryWrite, checkSeeds, firstViolation, referenceRun } from '../harness.ts'
import { mutants } from './mutants.ts'
import { exampleSimulation } from './simulation.ts'

const SEEDS = inFull(250, 10)

describe('the example controller', () => {
  test('without faults it does what each phase asks for', async () => {
    const { states, counts } = await referenceRun(exampleSimulation())
    const children = states.map((s) => Object.keys(s as object).filter((k) => k.startsWith('children/')).length)
    expect(children).toEqual([3, 5, 2, 2, 2, 3, 4, 4, 4, 0, 2])
    expect(counts[3]).toEqual({ 'example.kubenode.io/children ADDED': 2, 'example.kubenode.io/children DELETED': 2 })
  })

  test('F1 F2: it may die before and after any single write, and lose the reply of any', async () => {
    expect(await checkEveryWrite(exampleSimulation(), 'controller')).toBeGreaterThan(100)
  })

  test(`F1–F8, F11, F16: whatever goes wrong, ${SEEDS} seeds end as if nothing had`, async () => {
    await checkSeeds(exampleSimulation(), seeds(SEEDS))
  })
})

const correct = exampleSimulation()

describe('a planted bug', () => {
  test.each(mutants)('is found, $pattern: $name (within $within seeds)', async ({ parts, faults, within }) => {
    const found = await firstViolation(exampleSimulation(parts, faults), correct, seeds(within))
    expect(found).toBeDefined()
  })

  test.each(mutants.filter((m) => m.faults.length > 0 && m.alsoWithout === undefined))(
    'shows only under its faults, $pattern: $name',
    async ({ parts }) => {
      expect(await firstViolation(exampleSimulation(parts, []), correct, seeds(inFull(3, 1)))).toBeUndefined()
    },
  )
})
