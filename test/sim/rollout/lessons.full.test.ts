// Seeds that failed once, each in a story of its own: what was learned from them is in the stories and invariants of every run.
import { describe, test } from 'vitest'
import { describeSeed, runSeed } from './simulation.ts'
import { storyNamed } from './stories.ts'

const TIMEOUT_MS = 900_000

/** Each failed once; what it was says more than its number. */
const LESSONS = [
  ['F5 slots of machines whose slice went on without them count until they are free', 'zone partition', 15],
  ['F6 such slots are freed before others are requested, whatever a controller misses', 'zone partition', 26],
  ['F3 a machine is let go before its slot is free, whatever the order rests on', 'pause and resume', 125],
  ['F3 an order that was on its way when a machine was let go is refused', 'pause and resume', 161],
  ['F11 machines that leave lose the owner of their components', 'members come and go', 126],
  ['F3 no permit is asked for before all else of the look has come off', 'zone partition', 124],
  ['F2 replies that are lost do not spread the trial of a bad version over more machines', 'second thoughts', 555],
] as const

describe('a seed that taught something', () => {
  test.each(LESSONS)(
    '%s (story %s, seed %i)',
    async (_, story, seed) => {
      const run = await runSeed(seed, { story: storyNamed(story) })
      if (run.violations.length > 0) throw new Error(describeSeed(run, storyNamed(story)))
    },
    TIMEOUT_MS,
  )
})
