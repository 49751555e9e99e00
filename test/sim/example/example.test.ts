import { seeds } from '#test/support/scheduler.ts'
import { describe, expect, test } from 'vitest'
import { checkSeeds, firstViolation, referenceRun } from '../harness.ts'
import { mutants } from './mutants.ts'
import { exampleSimulation } from './simulation.ts'

const SEEDS = 250

describe('the example controller', () => {
  test('without faults it does what each phase asks for', async () => {
    const { states, counts } = await referenceRun(exampleSimulation())
    const children = states.map((s) => Object.keys(s as object).filter((k) => k.startsWith('children/')).length)
    expect(children).toEqual([3, 5, 2, 2, 2, 3, 4, 4, 4, 0, 2])
    expect(counts[3]).toEqual({ 'example.kubenode.io/children ADDED': 2, 'example.kubenode.io/children DELETED': 2 })
  })

  test(`F1–F8, F11, F16: whatever goes wrong, ${SEEDS} seeds end as if nothing had`, async () => {
    await checkSeeds(exampleSimulation(), seeds(SEEDS))
  })
})

describe('a planted bug is found', () => {
  test.each(mutants)('$pattern: $name (within $within seeds)', async ({ parts, faults, within }) => {
    const found = await firstViolation(exampleSimulation(parts, faults), exampleSimulation(), seeds(within))
    expect(found).toBeDefined()
    if (process.env['SIM_SHOW']) process.stdout.write(`${JSON.stringify(found)}\n`)
  })
})
