import { describe, expect, test } from 'vitest'
import { seeds } from '#test/support/scheduler.ts'
import { checkEveryWrite, checkSeeds, referenceRun } from '../harness.ts'
import { defenderSimulation } from './world.ts'

describe('two defenders that both believe to lead, and five requesters', () => {
  test('without faults everything is granted in time', async () => {
    const run = await referenceRun(defenderSimulation())
    expect(run.states).toEqual([{ done: 10, slots: 0 }])
  })

  test('30 seeds', async () => {
    await checkSeeds(defenderSimulation(), seeds(30))
  })
})
