// Rollouts over two hundred machines with the real controllers, the real Defender and hollow agents: whatever goes wrong, they end as if nothing had.
import { join } from 'node:path'
import { seeds } from '#test/support/scheduler.ts'
import { describe, expect, test } from 'vitest'
import { mutants } from './mutants.ts'
import { describeSeed, runSeed, storyOf, told } from './simulation.ts'
import { storyNamed } from './stories.ts'

const IS_FULL = process.env['KUBENODE_TEST_FULL'] === '1'
/** A run takes a second or two of one core: a few in each change, all of them once before a release. */
const SEEDS = IS_FULL ? 1_100 : 8
const FULL_MS = 4 * 3_600_000
/** Each so many runs are made twice. */
const REPLAYED = IS_FULL ? 50 : 4

describe('F1 F2 F3 F4 F5 F6 F7 F8 F11 F18 F20: a rollout over 200 machines', () => {
  test(
    `ends in ${SEEDS} seeds as the run without faults does, and holds its invariants at every write`,
    async () => {
      for (const seed of seeds(SEEDS)) {
        const run = await runSeed(seed)
        if (run.violations.length > 0) throw new Error(describeSeed(run, storyOf(seed)))
        if (seed % REPLAYED !== 0) continue
        // O9: the same seed, the same bytes.
        expect((await runSeed(seed)).digest).toBe(run.digest)
      }
    },
    IS_FULL ? FULL_MS : 300_000,
  )
})

/** Read the difference before a new text is accepted: each line is what somebody would see. */
describe('the log of a rollout', () => {
  test.each([
    'good bump',
    'bad version',
    'revert in mid-rollout',
    'zone partition',
    'canary that fails',
    'canary that is promoted',
  ])('%s reads as it is written down', async (name) => {
    const file = join(import.meta.dirname, 'golden', `${name.replaceAll(' ', '-')}.txt`)
    await expect(`${(await told(storyNamed(name))).join('\n').trim()}\n`).toMatchFileSnapshot(file)
  })
})

describe('a planted bug', () => {
  test.each(mutants)('is found: $name (within $within seeds)', async ({ story, parts, faults, within }) => {
    for (const seed of seeds(within, 1, undefined)) {
      const { violations } = await runSeed(seed, { story: storyNamed(story), parts, faults })
      if (violations.length > 0) return
    }
    throw new Error('no seed shows it')
  })
})
