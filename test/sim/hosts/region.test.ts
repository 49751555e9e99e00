import { seeds } from '#test/support/clocks/scheduler.ts'
import { inFull } from '#test/support/tools/full.ts'
import { describe, expect, test } from 'vitest'
import { checkSeeds, referenceRun } from '../harness.ts'
import { regionSimulation } from './region.ts'

const SIZE = inFull(40, 12)
const SEEDS = 4

describe(`a region with ${SIZE} machines`, () => {
  test('a pool gets its hosts and they join; the next offering serves when a zone has none left; a spot host that is reclaimed is replaced', async () => {
    const { states } = await referenceRun(regionSimulation(SIZE))
    const [spot, more] = [Math.floor(SIZE / 2), Math.ceil(SIZE * 1.25)]
    const all = (n: number, ofThemSpot: number) => ({
      ready: n,
      machines: n,
      withTheirHost: n,
      hosts: n,
      spot: ofThemSpot,
      violations: [],
    })
    expect(states).toEqual([all(SIZE, spot), all(more, spot), all(more, spot - 1)])
  }, 900_000)

  test(`F50: the same while controllers die and the cloud fails, ${SEEDS} seeds`, async () => {
    await checkSeeds(regionSimulation(SIZE), seeds(SEEDS))
  }, 3_600_000)
})
