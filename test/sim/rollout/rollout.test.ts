// Rollouts over a hundred or two of machines with the real controllers, the real Defender and hollow agents: whatever goes wrong, they end as if nothing had.
import { join } from 'node:path'
import { mutantSeeds, seeds } from '#test/support/clocks/scheduler.ts'
import { describe, expect, test } from 'vitest'
import { expectedIn } from './expected.ts'
import { mutants } from './mutants.ts'
import { poisoned, split } from './odd-worlds.ts'
import { describeSeed, runSeed, storyOf, told } from './simulation.ts'
import { editedByHand } from './git-stories.ts'
import { setStories } from './set-stories.ts'
import { stories, storyNamed } from './stories.ts'
import { inFull, isFull, ONLY_IN_FULL } from '#test/support/tools/full.ts'

/** Half a second of one core each: every story once in each change, more than a thousand before a release. */
const SEEDS = isFull ? 1_100 : stories.length
const SPLIT_SEEDS = inFull(60, 1)
const SET_SEEDS = inFull(60, 1)
/** As many are tried by default. */
const QUICK_SEARCH = 3
const FULL_MS = 4 * 3_600_000
const TIMEOUT_MS = isFull ? FULL_MS : 900_000
/** Each so many runs are made twice. */
const REPLAYED = inFull(50, 10)

const addTo = (all: Map<string, number>, more: Readonly<Record<string, number>>): void => {
  for (const [what, times] of Object.entries(more)) all.set(what, (all.get(what) ?? 0) + times)
}

describe('F1 F2 F3 F4 F5 F6 F7 F8 F11 F18 F20: a rollout over 60 machines, 200 in ok:full', () => {
  test(
    `ends in ${SEEDS} seeds as the run without faults does, holds its invariants at every write, and meets all that it should`,
    async () => {
      const happened = new Map<string, number>()
      const wanted = seeds(SEEDS)
      for (const seed of wanted) {
        const run = await runSeed(seed)
        if (run.violations.length > 0) throw new Error(describeSeed(run, storyOf(seed)))
        addTo(happened, run.happened)
        if (seed % REPLAYED !== 0) continue
        // O9: the same seed, the same bytes.
        expect((await runSeed(seed)).digest).toBe(run.digest)
      }
      const lines = [...happened].toSorted(([a], [b]) => (a < b ? -1 : 1)).map(([what, times]) => `${times} × ${what}`)
      process.stdout.write(`in ${wanted.length} seeds:\n  ${lines.join('\n  ')}\n`)
      // A single seed need not cover every case.
      const never = wanted.length < SEEDS ? [] : expectedIn(SEEDS).filter((what) => !happened.has(what))
      expect(never).toEqual([])
    },
    TIMEOUT_MS,
  )

  test(
    `F15 two controllers that both believe to lead break no invariant in ${SPLIT_SEEDS} seeds`,
    async () => {
      for (const seed of seeds(SPLIT_SEEDS)) {
        const { violations } = await split(seed)
        expect([seed, violations.filter((v) => v.oracle === 'O3')]).toEqual([seed, []])
      }
    },
    TIMEOUT_MS,
  )

  test('F21 unreadable objects delay no other object', async () => {
    const run = await poisoned()
    expect(run.violations).toEqual([])
    expect(run.states).toEqual([
      expect.objectContaining({
        outcome: expect.objectContaining({ phase: 'Complete' }),
        openSlices: 0,
        openPermits: 0,
      }),
    ])
  }, 600_000)
})

describe('F18 sets that go, come again, or are overruled', () => {
  test.each(setStories.map((story) => [story.name, story] as const))(
    `%s: ${SET_SEEDS} seeds end as the run without faults does`,
    async (_, story) => {
      for (const seed of seeds(SET_SEEDS)) {
        const run = await runSeed(seed, { story })
        if (run.violations.length > 0) throw new Error(describeSeed(run, story))
      }
    },
    TIMEOUT_MS,
  )
})

describe('F45 edits of what git owns', () => {
  test(
    `have no effect in ${SET_SEEDS} seeds, whenever they come and whatever caches have seen of Inventory and set`,
    async () => {
      for (const seed of seeds(SET_SEEDS)) {
        const run = await runSeed(seed, { story: editedByHand })
        if (run.violations.length > 0) throw new Error(describeSeed(run, editedByHand))
        expect(run.states).toMatchObject(run.states.map(() => ({ outcome: { phase: 'Complete' } })))
      }
    },
    TIMEOUT_MS,
  )
})

/** A run that gets stuck just like the run without faults would not show it. */
const ENDS = [
  ['F42', 'one end in every settle window', ['Complete', 'Complete', 'Complete', 'Complete']],
  ['F44', 'a first install that fails', ['Complete', 'Blocked', 'Complete', 'Blocked', 'Complete']],
] as const

describe('each phase ends as people expect', () => {
  test.each(ENDS)(
    '%s %s',
    async (_, name, ends) => {
      const story = storyNamed(name)
      const run = await runSeed(1, { story })
      if (run.violations.length > 0) throw new Error(describeSeed(run, story))
      expect(run.states).toMatchObject(ends.map((phase) => ({ outcome: { phase } })))
    },
    TIMEOUT_MS,
  )
})

/** Read the difference before you accept a new text: each line is what a user would see. */
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
  test.for(mutants)(
    'is found: $name (within $within seeds)',
    { timeout: TIMEOUT_MS },
    async ({ name, story, parts, faults, within, shownBy }, { skip }) => {
      // The seed that shows one of these moves with every change of the controllers, and a search takes minutes.
      if (within > QUICK_SEARCH && !isFull) skip(ONLY_IN_FULL)
      for (const seed of mutantSeeds(within, shownBy)) {
        const { violations } = await runSeed(seed, { story: storyNamed(story), parts, faults })
        if (violations.length === 0) continue
        process.stdout.write(`${name}: seed ${seed} of ${within}: ${violations[0]?.message}\n`)
        return
      }
      throw new Error('no seed shows it')
    },
  )
})
