// Rollouts with the real controllers, the real Defender and hollow agents: whatever goes wrong, they end as if nothing had.
import { join } from 'node:path'
import { mutantSeeds, seeds } from '#test/support/clocks/scheduler.ts'
import { describe, expect, test } from 'vitest'
import { checkEveryWrite } from '../harness.ts'
import { restedMachines } from './bring-to-rest.ts'
import { expectedIn } from './expected.ts'
import { Agents, FULL_SCALE, LOG_SCALE, SEED_SCALE, SMALL_SCALE, TINY_SCALE } from './fleet.ts'
import { mutants } from './mutants.ts'
import { poisoned, split } from './odd-worlds.ts'
import { describeSeed, referenceOf, rolloutSimulation, runSeed, storyOf } from './simulation.ts'
import { editedByHand } from './git-stories.ts'
import { setStories } from './set-stories.ts'
import { storyNamed } from './stories.ts'
import { inFull, inFullAll, isFull, onlyInFull } from '#test/support/tools/full.ts'

/** Half of the stories in each change, more than a thousand seeds of them all before a release. */
const SEEDS = inFull(1_100, 7)
const SPLIT_SEEDS = inFull(60, 1)
const SET_SEEDS = inFull(60, 1)
const FULL_MS = 4 * 3_600_000
const TIMEOUT_MS = isFull ? FULL_MS : 900_000
/** Each so many runs are made twice. */
const REPLAYED = inFull(50, 7)

const addTo = (all: Map<string, number>, more: Readonly<Record<string, number>>): void => {
  for (const [what, times] of Object.entries(more)) all.set(what, (all.get(what) ?? 0) + times)
}

describe(`F1 F2 F3 F4 F5 F6 F7 F8 F11 F18 F20: a rollout over ${SEED_SCALE.machines} machines`, () => {
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

  test(
    'F1 F2 may lose its controllers before and after every single write, and the reply of each',
    async () => {
      const calm = rolloutSimulation(storyNamed('canary that is promoted'), {}, TINY_SCALE, await restedMachines())
      expect(await checkEveryWrite(calm, 'controllers')).toBeGreaterThan(35)
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

/** Edits of what git owns, which have no effect whatever caches have seen of Inventory and set, and what befalls whole sets. */
const SET_STORIES = inFullAll([['F45', editedByHand], ...setStories.map((s) => ['F18', s] as const)] as const, 2)

test.each(SET_STORIES.map(([fault, story]) => [fault, story.name, story] as const))(
  `%s %s: ${SET_SEEDS} seeds end as the run without faults does`,
  async (_, __, story) => {
    for (const seed of seeds(SET_SEEDS)) {
      const run = await runSeed(seed, { story })
      if (run.violations.length > 0) throw new Error(describeSeed(run, story))
    }
  },
  TIMEOUT_MS,
)

/** Phases that are blocked in the end; all others are complete. */
const ENDS = [
  ['F42', storyNamed('one end in every settle window'), []],
  ['F44', storyNamed('a first install that fails'), ['a first version that is bad', 'a version that is bad']],
  ['F18', storyNamed('bad version'), ['break']],
  ...SET_STORIES.map(([fault, story]) => [fault, story, []] as const),
] as const

/** A run that gets stuck just like the run without faults would not show it. */
test.each(ENDS.map(([fault, story, blocked]) => [fault, story.name, story, blocked] as const))(
  '%s %s: each phase ends as people expect',
  async (_, __, story, blocked: readonly string[]) => {
    const names = story.phases(() => new Agents(SEED_SCALE)).map((p) => p.name)
    const { states } = (await referenceOf(story)).run
    expect(states).toMatchObject(
      names.map((name) => ({ outcome: { phase: blocked.includes(name) ? 'Blocked' : 'Complete' } })),
    )
  },
  TIMEOUT_MS,
)

/** Read the difference before you accept a new text: each line is what a user would see. */
const LOGS = [
  ['bad version', LOG_SCALE],
  ['good bump', LOG_SCALE],
  ['revert in mid-rollout', LOG_SCALE],
  ['canary that fails', LOG_SCALE],
  ['canary that is promoted', LOG_SCALE],
  // Fewer machines are done before agents count as silent.
  ['zone partition', FULL_SCALE],
] as const

describe('the log of a rollout', () => {
  test.each(inFullAll(LOGS, 3))('%s reads as it is written down', async (name, scale) => {
    const file = join(import.meta.dirname, 'golden', `${name.replaceAll(' ', '-')}.txt`)
    const { lines } = await referenceOf(storyNamed(name), scale)
    await expect(`${lines.join('\n').trim()}\n`).toMatchFileSnapshot(file)
  })
})

describe('a planted bug', () => {
  test.for(mutants)(
    'is found: $name (within $within seeds)',
    { timeout: TIMEOUT_MS },
    async ({ name, within, shownBy, isLong = false, ...planted }, context) => {
      if (isLong) onlyInFull(context)
      const scale = isLong ? SEED_SCALE : SMALL_SCALE
      for (const seed of mutantSeeds(within, shownBy)) {
        const { violations } = await runSeed(seed, { ...planted, scale })
        if (violations.length === 0) continue
        process.stdout.write(`${name}: seed ${seed} of ${within}: ${violations[0]?.message}\n`)
        return
      }
      throw new Error('no seed shows it')
    },
  )
})
