// Acceptances of new Nodes while controllers die, replies are lost, caches are stale, clocks jump, agents are restarted and Nodes are deleted.
import type { Machine } from '#api/kinds/machine.ts'
import { machine as machineType } from '#api/kinds/machine.ts'
import { machineModule } from '#controllers/machine/reconcile.ts'
import { machineSetModule } from '#controllers/machineset/reconcile.ts'
import type { ControllerContext, ControllerModule } from '#controllers/module.ts'
import { podType } from '#nodes/objects.ts'
import { seeds } from '#test/support/clocks/scheduler.ts'
import { inFull } from '#test/support/tools/full.ts'
import { describe, expect, test } from 'vitest'
import { checkSeeds, firstViolation, referenceRun } from '../harness.ts'
import { acceptanceSimulation } from './simulation.ts'

const SEEDS = inFull(200, 3)
/** A clock that is set back by hours while an attempt is awaited: found among the first two hundred. */
const HARD = process.env['SIM_SEED'] === undefined ? [22] : []

const FORMS = [
  { form: 'script', good: 'script good 1.0.0', bad: 'script bad 1.0.0' },
  { form: 'pod', good: 'pod good', bad: 'pod bad' },
] as const

describe.each(FORMS)('acceptances by a $form', ({ form, ...wanted }) => {
  const good = (taints: readonly string[] = []) => ['Ready', 'Passed', wanted.good, true, true, taints, 'False']
  const faulty = ['Installing', 'Failed', wanted.bad, true, true, ['kubenode.io/components-pending'], 'True']

  test('without faults, good nodes serve after they passed, and a bad one never does', async () => {
    const { states, violations } = await referenceRun(acceptanceSimulation({ form }))
    expect(violations).toEqual([])
    const seen = states.map((s) =>
      (s as readonly string[])
        .map((text) => Object.values(JSON.parse(text) as Record<string, unknown>).slice(1))
        .toSorted((a, b) => (JSON.stringify(a) < JSON.stringify(b) ? -1 : 1)),
    )
    const marked = good(['example.org/look'])
    expect(seen).toEqual([
      [faulty, good(), good()],
      [faulty, good(), good(), good()],
      [faulty, marked, good(), good()],
      [marked, good(), good(), good()],
      [good()],
    ])
  })

  test(`whatever goes wrong, ${SEEDS} seeds end as if nothing had`, async () => {
    await checkSeeds(acceptanceSimulation({ form }), new Set([...HARD, ...seeds(SEEDS)]))
  }, 900_000)
})

/** Takes the last report for one about the current attempt. */
const takesAnyReport: ControllerModule = {
  name: machineModule.name,
  setup: (context) => {
    const of: ControllerContext['informers']['of'] = (type, options) => {
      const cache = context.informers.of(type, options)
      if (type.kind !== machineType.kind) return cache
      const taken = (object: unknown): unknown => {
        const m = object as Machine | undefined
        if (m?.status?.acceptanceReport === undefined || m.status.acceptance === undefined) return object
        const acceptanceReport = { ...m.status.acceptanceReport, run: m.status.acceptance.run }
        return { ...m, status: { ...m.status, acceptanceReport } }
      }
      return new Proxy(cache, {
        get: (target, property) =>
          property === 'get'
            ? (key: Parameters<typeof target.get>[0]) => taken(target.get(key))
            : (Reflect.get(target, property, target) as unknown),
      })
    }
    return machineModule.setup({ ...context, informers: { ...context.informers, of } })
  },
}

/** Takes the exit code 0 of a program that was told to stop for a pass. */
const takesDeletedPods: ControllerModule = {
  name: machineModule.name,
  setup: (context) => {
    const get: ControllerContext['client']['get'] = async (type, key, options) => {
      const object = await context.client.get(type, key, options)
      if (type.kind !== podType.kind || object === undefined) return object
      const { deletionTimestamp: _, ...metadata } = object.metadata
      return { ...object, metadata }
    }
    const client = new Proxy(context.client, {
      get: (target, property) => (property === 'get' ? get : (Reflect.get(target, property, target) as unknown)),
    })
    return machineModule.setup({ ...context, client })
  },
}

describe('a planted bug', () => {
  const only = ['create', 'a Node is deleted']
  test.each([
    ['an agent that forgets what it started', { only, hasJournal: false }],
    [
      'a controller that takes an earlier result for the current one',
      { only, modules: [takesAnyReport, machineSetModule] },
    ],
    [
      'a controller that counts the end of a deleted pod',
      { only, form: 'pod', modules: [takesDeletedPods, machineSetModule] },
    ],
  ] as const)('is found: %s', async (_, scenario) => {
    const found = await firstViolation(
      acceptanceSimulation({ ...scenario, faults: [] }),
      acceptanceSimulation({ only, form: 'form' in scenario ? scenario.form : 'script' }),
      seeds(1),
    )
    expect(found).toBeDefined()
  })
})
