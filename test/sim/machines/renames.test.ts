import { seeds } from '#test/support/clocks/scheduler.ts'
import { describe, expect, test } from 'vitest'
import type { Machine } from '#api/kinds/machine.ts'
import { machineSet } from '#api/kinds/machine-set.ts'
import { machineModule } from '#controllers/machine/reconcile.ts'
import { machineSetModule } from '#controllers/machineset/reconcile.ts'
import type { ControllerContext, ControllerModule } from '#controllers/module.ts'
import { fleetView } from '#defender/fleet.ts'
import { type Decide, decide } from '#defender/plan.ts'
import { seededRandom } from '#lib/random.ts'
import { describeRun, referenceRun, simulate } from '../harness.ts'
import type { FaultKind } from '../sim-faults.ts'
import { type RenameOptions, type Step, type Story, STEPS, renameSimulation, storyOf } from './renames.ts'
import { inFull, isFull } from '#test/support/tools/full.ts'

const SEEDS = 300
/** By default two stories with each step once; a seed that is given alone shows its own. */
const QUICK = [STEPS.slice(0, STEPS.length / 2), STEPS.slice(STEPS.length / 2)]
const STORIES: readonly (readonly [number, Story])[] =
  isFull || process.env['SIM_SEED'] !== undefined
    ? seeds(SEEDS).map((seed) => [seed, storyOf(seed)])
    : QUICK.map((steps, i) => [i + 1, { steps, random: seededRandom(i + 1) }])

/** Those that neither lose machines nor let the Defender's clocks disagree. */
const FAULTS: readonly FaultKind[] = [
  'Crash',
  'LostReply',
  'Refuse',
  'Stale',
  'Events',
  'Missed',
  'Partition',
  'Pause',
  'WallJump',
]

const story = (...steps: readonly Step[]) => ({ steps, random: seededRandom(1) })
const MACHINES = 'kubenode.io/machines'

describe('sets that are renamed, replaced, deleted and made again', () => {
  test('F41 a rename makes and deletes no machine', async () => {
    const plain = { ...story('Rename', 'RenameTwice'), isPlain: true }
    const run = await simulate({ ...renameSimulation({ story: plain }), counted: [MACHINES] }, 1)
    expect(run.violations).toEqual([])
    expect(run.counts.slice(1).map((c) => Object.values(c).filter((n) => n > 0))).toEqual([[], []])
  })

  test(
    `F41 ${STORIES.length} stories with a garbage collector, without faults and with them: never below the floor`,
    async () => {
      const happened = new Map<string, number>()
      for (const [seed, told] of STORIES) {
        const simulation = renameSimulation({ story: told, faults: FAULTS })
        const reference = await referenceRun(simulation)
        const run = await simulate(simulation, seed, { reference })
        if (run.violations.length > 0) throw new Error(`${told.steps.join(', ')}: ${describeRun(run)}`)
        for (const [what, n] of Object.entries(run.happened)) happened.set(what, (happened.get(what) ?? 0) + n)
      }
      // A seed that is given alone shows one story.
      if (process.env['SIM_SEED'] !== undefined) return
      const wanted = [
        ...STEPS.map((s) => `step ${s}`),
        ...(isFull ? ['Background', 'Foreground', 'Orphan'] : ['Background']).map((p) => `a set is deleted: ${p}`),
        'a machine is garbage-collected',
      ]
      expect(wanted.filter((w) => !happened.has(w))).toEqual([])
    },
    inFull(1_800_000, 900_000),
  )
})

/** An earlier bug of the Defender: machines that are being deleted already count as unavailable. */
const deletedIsDown: Decide = (snapshot, before, options) => {
  const machines = snapshot.fleet.units.flatMap(({ source }) => (source.kind === 'Machine' ? [source as Machine] : []))
  const down = (m: Machine): Machine =>
    m.metadata.deletionTimestamp === undefined
      ? m
      : { ...m, status: { ...m.status, phase: 'Failed', inServiceSince: 'before' } }
  const nodes = snapshot.fleet.units.flatMap(({ source }) => (source.kind === 'Node' ? [source] : []))
  return decide(
    { ...snapshot, fleet: fleetView({ machines: machines.map(down), nodes, clusters: [] }) },
    before,
    options,
  )
}

/** Each set believes to be the only one. */
const knowsNoOthers: ControllerModule = {
  name: machineSetModule.name,
  setup: (context) => {
    const of: ControllerContext['informers']['of'] = (type, options) => {
      const cache = context.informers.of(type, options)
      if (type.kind !== machineSet.kind) return cache
      return new Proxy(cache, {
        get: (target, property) =>
          property === 'list' ? () => [] : (Reflect.get(target, property, target) as unknown),
      })
    }
    return machineSetModule.setup({ ...context, informers: { ...context.informers, of } })
  },
}

describe('a planted bug', () => {
  const firstOf = async (options: Omit<RenameOptions, 'story'>, steps: readonly Step[], within = 10) => {
    for (const seed of seeds(within)) {
      const random = seededRandom(seed)
      const run = await simulate(renameSimulation({ ...options, story: { steps, random } }), seed)
      if (run.violations[0] !== undefined) return run.violations[0]
    }
    return undefined
  }

  test('F41 is found: the Defender takes what is deleted for down', async () => {
    const found = await firstOf({ defenderParts: () => ({ decide: deletedIsDown }) }, ['Delete'])
    expect(found?.message).toMatch(/neverBelowTheFloor/)
    expect(await firstOf({}, ['Delete'], inFull(10, 1))).toBeUndefined()
  })

  test('F41 is found: a set does not look at the others', async () => {
    const story = { steps: ['Rename'] as const, random: seededRandom(1), isPlain: true }
    const modules = [machineModule, knowsNoOthers]
    const run = await simulate({ ...renameSimulation({ story, modules }), counted: [MACHINES] }, 1)
    expect(Object.values(run.counts.at(-1) ?? {}).some((n) => n > 0)).toBe(true)
  })
})
