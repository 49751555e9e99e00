import { seeds } from '#test/support/clocks/scheduler.ts'
import { expect, test } from 'vitest'
import { firstViolation, simulate } from '../harness.ts'
import { mutants } from './mutants.ts'
import { remedySimulation } from './simulation.ts'

test.each(mutants)('a planted bug is found: $name', async ({ modules, faults, within, phases }) => {
  const correct = remedySimulation(undefined, faults, phases)
  const found = await firstViolation(remedySimulation(modules, faults, phases), correct, seeds(within))
  expect(found?.violation.oracle).toMatch(/^O[135]$/)
})

test('the correct controllers show none of them', async () => {
  for (const { phases } of mutants) {
    const run = await simulate(remedySimulation(undefined, [], phases), 1)
    expect(run.violations).toEqual([])
  }
})
