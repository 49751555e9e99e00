import { seeds } from '#test/support/clocks/scheduler.ts'
import { describe, expect, test } from 'vitest'
import { checkSeeds, firstViolation, referenceRun } from '../harness.ts'
import { mutants } from './mutants.ts'
import { hostSimulation } from './simulation.ts'
import { inFull } from '#test/support/tools/full.ts'

const SEEDS = inFull(1_000, 4)

describe('machines and the hosts of a cloud', () => {
  test('in bad weather each machine gets exactly one host, and none is left in the end', async () => {
    const { states } = await referenceRun(hostSimulation())
    const joining = 'Joining with 1 hosts'
    const all = (n: number) => ({
      replicas: n,
      machines: Array.from({ length: n }, () => joining),
      violations: [],
      orphans: 0,
    })
    expect(states).toEqual([all(4), all(7), all(7), all(7), all(3), all(3), all(3), all(0)])
  }, 600_000)

  test(`F50: whatever goes wrong with cloud and controllers, ${SEEDS} seeds have one host for each Machine`, async () => {
    await checkSeeds(hostSimulation(), seeds(SEEDS))
  }, 3_600_000)
})

describe('a planted bug', () => {
  test.each(mutants.filter((m) => m.plant !== undefined))(
    'is what is found: without it nothing is, where it $name',
    async ({ scenario }) => {
      expect(
        await firstViolation(hostSimulation(scenario), hostSimulation(scenario), seeds(inFull(20, 3))),
      ).toBeUndefined()
    },
    600_000,
  )

  test.each(mutants)(
    'is found: $name (within $within seeds)',
    async ({ scenario, within, plant }) => {
      const { only = [] } = scenario
      const found = await firstViolation(hostSimulation(scenario), hostSimulation({ only }), seeds(within), plant)
      expect(found).toBeDefined()
    },
    600_000,
  )
})
