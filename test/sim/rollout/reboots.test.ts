// Rollouts of a version that reboots its machines: under permits, within the limit, at most once forward and once back, and they end as without faults do.
import { expect, test } from 'vitest'
import { inFull } from '#test/support/tools/full.ts'
import { seeds } from '#test/support/clocks/scheduler.ts'
import { SMALL_SCALE, TINY_SCALE } from './fleet.ts'
import { describeSeed, referenceOf, rolloutSimulation, runSeed } from './simulation.ts'
import { checkEveryWrite } from '../harness.ts'
import { restedMachines } from './bring-to-rest.ts'
import { rebootMutants } from './reboot-mutants.ts'
import { BOOTS, POWERS, TALES, type Weather, badWeather } from './reboots.ts'
import { type Story, hanging, images, kernels, rebooted as story } from './stories.ts'

const SEEDS = inFull(50, 2)

test('each phase ends as people expect: complete, or blocked after its first machine', async () => {
  const { states } = (await referenceOf(story, SMALL_SCALE)).run
  expect(states).toMatchObject(['Complete', 'Complete', 'Blocked', 'Complete'].map((phase) => ({ outcome: { phase } })))
})

test(`F18 ${SEEDS} seeds end as the run without faults does`, async () => {
  for (const seed of seeds(SEEDS)) {
    const run = await runSeed(seed, { story, scale: SMALL_SCALE })
    if (run.violations.length > 0) throw new Error(describeSeed(run, story))
  }
}, 3_600_000)

const WEATHER = ({ seed }: { readonly seed: number }): Weather => badWeather(seed)

const BAD_SEEDS = inFull(1_000, 3)
const WANTED = [
  ...BOOTS.map((b) => `boot ${b}`),
  ...POWERS.map((p) => `power ${p}`),
  ...Object.values(TALES),
  'hung in the settle window',
]

/** All come to rest, and each kind of bad weather was met. */
async function weathered(bad: Story): Promise<void> {
  const happened = new Set<string>()
  const all = seeds(BAD_SEEDS)
  for (const seed of all) {
    const run = await runSeed(seed, { story: bad, scale: SMALL_SCALE })
    if (run.violations.length > 0) throw new Error(describeSeed(run, bad))
    for (const what of Object.keys(run.happened)) happened.add(what)
  }
  if (all.length >= ALL_WEATHERS) expect(WANTED.filter((what) => !happened.has(what))).toEqual([])
}

/** So many seeds meet each of them. */
const ALL_WEATHERS = 300

test(
  `F18 ${BAD_SEEDS} seeds with hosts that hang and a provider that lies: nothing is restarted twice, and all come to rest`,
  () => weathered(hanging(WEATHER)),
  14_400_000,
)

test(
  `F18 ${BAD_SEEDS} seeds of a kernel and its driver: what boots after a power cut is what the agent keeps`,
  () => weathered(kernels(WEATHER)),
  14_400_000,
)

test(
  `F18 ${BAD_SEEDS} seeds of an image of bootc and its driver: what boots after a power cut is what the agent keeps`,
  () => weathered(images(WEATHER)),
  14_400_000,
)

/** Hangs at its first reboot, and its provider restarts it. */
const hung = hanging(() => {
  let boots = 0
  return { boot: () => (boots++ === 0 ? 'Hangs' : 'Returns'), power: () => 'Does', told: () => 'Truth' }
})

test('F1 F2 the controllers may die around any write while a machine hangs', async () => {
  const simulation = rolloutSimulation(hung, {}, TINY_SCALE, await restedMachines())
  const phases = simulation.phases.slice(0, 2)
  expect(await checkEveryWrite({ ...simulation, phases }, 'controllers', QUICK_WRITES)).toBeGreaterThan(20)
}, 3_600_000)

/** In the quick run; no multiple of three. */
const QUICK_WRITES = 10

test.each([
  { what: 'a kernel', of: kernels, shownBy: 1, finds: /boots by default, and 6\.\S+ is kept/ },
  {
    what: 'an image',
    of: images,
    shownBy: 2,
    finds: /boots after a power cut, and \S+ is kept|panics, again and again/,
  },
])(
  'a planted bug is found: $what is the default before it was healthy',
  async ({ of, shownBy, finds }) => {
    await referenceOf(of(WEATHER), SMALL_SCALE)
    const story = of(({ seed }) => ({ ...badWeather(seed), armsForGood: true }))
    const run = await runSeed(shownBy, { story, scale: SMALL_SCALE })
    expect(run.violations.map((v) => v.message).join()).toMatch(finds)
  },
  600_000,
)

test.each(rebootMutants)(
  'a planted bug is found: $name',
  async ({ shownBy, finds, parts = {}, weather }) => {
    const story = hanging(({ seed }) => ({ ...badWeather(seed), ...weather }))
    const run = await runSeed(shownBy, { story, scale: SMALL_SCALE, parts })
    expect(run.violations.map((v) => v.message).join()).toMatch(finds)
  },
  600_000,
)
