// Control planes of Kubernetes programs under people and faults in random combinations, on a model of their store and API servers: what was written to Secrets can
// be read by every API server at every moment. test/e2e/real/control-plane-faults.full.test.ts does the same with the programs.
import { expect, test } from 'vitest'
import { seededRandom } from '#lib/random.ts'
import { isFull } from '#test/support/tools/full.ts'
import { modeledPlane } from '#test/support/worlds/modeled-plane.ts'
import { planeUnderFaults } from '#test/support/worlds/plane-faults.ts'

const [SEEDS, ROUNDS] = isFull ? [200, 12] : [6, 6]

test.each(Array.from({ length: SEEDS }, (_, n) => n + 1))(
  'seed %i: no combination of kills, clocks and people makes a Secret unreadable',
  async (seed) => {
    const options = { chance: seededRandom(seed), isOver: (rounds: number) => rounds >= ROUNDS }
    const { rounds, steps } = await planeUnderFaults(modeledPlane(seed), options)
    expect(rounds).toBe(ROUNDS)
    expect(steps).toBeGreaterThan(ROUNDS)
  },
)
