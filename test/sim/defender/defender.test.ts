import { describe, expect, test } from 'vitest'
import { mutantSeeds, seeds } from '#test/support/clocks/scheduler.ts'
import { type Simulation, checkEveryWrite, checkSeeds, firstViolation, sharedReference } from '../harness.ts'
import { mutants } from './mutants.ts'
import { defenderSimulation } from './world.ts'
import { inFull, onlyInFull } from '#test/support/tools/full.ts'

const SEEDS = inFull(1_000, 2)
const MANY_MS = inFull(1_800_000, 180_000)
/** Two hundred writes, three runs of a third of a second for each; a busy machine gives a tenth of a core. */
const EVERY_WRITE_MS = inFull(1_800_000, 400_000)
/** No multiple of three, or each write would get the same fault. */
const QUICK_WRITES = 32

const simulation = defenderSimulation()

describe('two defenders that both believe to lead, and five requesters', () => {
  test('without faults everything is granted in time', async () => {
    const run = await sharedReference(simulation)
    expect(run.states).toEqual([{ done: 10, slots: 0 }])
  })

  test(
    'F1 F2: one may die around any write, and lose the reply of any',
    async () => {
      expect(await checkEveryWrite(simulation, 'a', QUICK_WRITES)).toBeGreaterThan(30)
    },
    EVERY_WRITE_MS,
  )

  test(
    `F3 F15 F16: ${SEEDS} seeds of crashes, pauses, lost replies, stale caches and jumps of the clock: never over a limit`,
    async () => {
      await checkSeeds(simulation, seeds(SEEDS))
    },
    MANY_MS,
  )
})

/** Only what is allowed counts here, not where it ends. */
const limitsOnly = (whole: Simulation): Simulation => ({ ...whole, state: () => 0, restMs: 0 })
const correct = limitsOnly(simulation)

describe('a planted bug', () => {
  test.each(mutants)(
    'is found within $within seeds: it $name',
    async ({ name, parts, faults, within, shows, shownBy }) => {
      const planted = limitsOnly(defenderSimulation(parts, faults))
      const found = await firstViolation(planted, correct, mutantSeeds(within, shownBy))
      expect(found?.violation).toMatchObject({ oracle: 'O3' })
      expect(found?.violation.message).toMatch(shows)
      // Of all seeds it is tried first: an old one costs a search in each quick run.
      if (found?.seed !== shownBy) process.stdout.write(`${name}: seed ${found?.seed} shows it, not ${shownBy}\n`)
    },
  )

  test.for(mutants.filter((m) => m.faults.length > 0))(
    'shows only under its faults: it $name',
    async ({ parts }, context) => {
      onlyInFull(context)
      expect(await firstViolation(defenderSimulation(parts, []), simulation, seeds(3))).toBeUndefined()
    },
  )
})
