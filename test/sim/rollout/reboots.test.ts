// Rollouts of a version that reboots its machines: under permits, within the limit, at most once forward and once back, and they end as without faults do.
import { expect, test } from 'vitest'
import { inFull, isFull } from '#test/support/tools/full.ts'
import { seededRandom } from '#lib/random.ts'
import { seeds } from '#test/support/clocks/scheduler.ts'
import { SMALL_SCALE, TINY_SCALE } from './fleet.ts'
import { describeSeed, referenceOf, rolloutSimulation, runSeed } from './simulation.ts'
import { checkEveryWrite } from '../harness.ts'
import { restedMachines } from './bring-to-rest.ts'
import { rebootMutants } from './reboot-mutants.ts'
import { BOOTS, POWERS, badWeather } from './reboots.ts'
import { hanging, kernels, rebooted as story } from './stories.ts'

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

const HUNG_SEEDS = inFull(300, 3)
const bad = hanging(({ seed }) => badWeather(seededRandom(seed * 6_997 + 5)))

test(`F18 ${HUNG_SEEDS} seeds with hosts that hang and a provider that lies: nothing is restarted twice, and all come to rest`, async () => {
  const happened = new Set<string>()
  for (const seed of seeds(HUNG_SEEDS)) {
    const run = await runSeed(seed, { story: bad, scale: SMALL_SCALE })
    if (run.violations.length > 0) throw new Error(describeSeed(run, bad))
    for (const what of Object.keys(run.happened)) happened.add(what)
  }
  const wanted = [...BOOTS.map((b) => `boot ${b}`), ...POWERS.map((p) => `power ${p}`), 'hung in the settle window']
  if (isFull) expect(wanted.filter((what) => !happened.has(what))).toEqual([])
}, 3_600_000)

const KERNEL_SEEDS = inFull(1_000, 3)
const withKernels = kernels(({ seed }) => badWeather(seededRandom(seed * 6_997 + 5)))

test(`F18 ${KERNEL_SEEDS} seeds of a kernel and its driver: what boots after a power cut is what the agent keeps`, async () => {
  for (const seed of seeds(KERNEL_SEEDS)) {
    const run = await runSeed(seed, { story: withKernels, scale: SMALL_SCALE })
    if (run.violations.length > 0) throw new Error(describeSeed(run, withKernels))
  }
}, 7_200_000)

/** Hangs at its first reboot, and its provider restarts it. */
const hung = hanging(() => {
  let boots = 0
  return { boot: () => (boots++ === 0 ? 'Hangs' : 'Returns'), power: () => 'Does' }
})

test('F1 F2 the controllers may die around any write while a machine hangs', async () => {
  const simulation = rolloutSimulation(hung, {}, TINY_SCALE, await restedMachines())
  const phases = simulation.phases.slice(0, 2)
  expect(await checkEveryWrite({ ...simulation, phases }, 'controllers', QUICK_WRITES)).toBeGreaterThan(20)
}, 3_600_000)

/** In the quick run; no multiple of three. */
const QUICK_WRITES = 10

test('a planted bug is found: a kernel is the default before it was healthy', async () => {
  const story = kernels(({ seed }) => ({ ...badWeather(seededRandom(seed * 6_997 + 5)), armsForGood: true }))
  const run = await runSeed(1, { story, scale: SMALL_SCALE })
  expect(run.violations.map((v) => v.message).join()).toMatch(/boots by default, and 6\.\S+ is kept/)
}, 600_000)

test.each(rebootMutants)(
  'a planted bug is found: $name',
  async ({ shownBy, finds, parts = {}, weather }) => {
    const story = hanging(({ seed }) => ({ ...badWeather(seededRandom(seed * 6_997 + 5)), ...weather }))
    const run = await runSeed(shownBy, { story, scale: SMALL_SCALE, parts })
    expect(run.violations.map((v) => v.message).join()).toMatch(finds)
  },
  600_000,
)
