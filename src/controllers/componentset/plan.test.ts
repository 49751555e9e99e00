// Stories of rollouts, told with the planner, the machine controller's decisions and agents in memory.
import { describe, expect, test } from 'vitest'
import { machineComponentSet } from '#api/kinds/machine-component-set.ts'
import { createValidator } from '#api/validate.ts'
import { component, componentSet, workingMachine } from '#test/support/rollout-fleet.ts'
import { type ModelOptions, RolloutModel } from '#test/support/rollout-model.ts'

const VERSIONS = ['1.0.0', '1.1.0', '1.2.0', '2.0.0']
const components = ['beacon', 'scribe'].flatMap((c) => VERSIONS.map((v) => component(c, v)))

function fleet(count: number, more: Partial<ModelOptions> = {}): RolloutModel {
  const machines = Array.from({ length: count }, (_, i) =>
    workingMachine(`m-${String(i).padStart(4, '0')}`, { versions: { beacon: '1.0.0' }, zone: `z-${i % 3}` }),
  )
  const model = new RolloutModel({ machines, set: componentSet({ beacon: '1.0.0' }), components, ...more })
  model.onPlan = ({ status }, { set }) => expect(problemsOf({ ...set, status })).toEqual([])
  model.settle()
  return model
}

const validator = createValidator()
/** A server refuses a status that its schema does not know, and the rollout would stand still. */
const problemsOf = (set: object) => validator.problems(machineComponentSet, JSON.parse(JSON.stringify(set)))

const stepSizes = (model: RolloutModel): readonly number[] => {
  const sizes = new Map<string, number>()
  for (const [name, { spec }] of model.permits) {
    const step = /-s(\d+)-/.exec(name)?.[1] ?? ''
    sizes.set(step, (sizes.get(step) ?? 0) + spec.targets.length)
  }
  return [...sizes].toSorted(([a], [b]) => Number(a) - Number(b)).map(([, n]) => n)
}

describe('a rollout', () => {
  test('that has nothing to do asks for nothing and makes the declared revision the current one', () => {
    const model = fleet(3)
    expect(model.permits.size).toBe(0)
    expect(model.set.status?.phase).toBe('Complete')
    expect(model.set.status?.revisions?.current).toBe(model.set.status?.revisions?.update)
    expect(model.set.status?.waitingFor).toBeUndefined()
  })

  test('of a set without components is done', () => {
    const model = fleet(2, { set: componentSet({}) })
    expect(model.set.status?.phase).toBe('Complete')
  })

  test('climbs the ladder 1, 5, 10, 50, 100, 100 … to the last machine', () => {
    const model = fleet(300)
    model.set = {
      ...model.set,
      spec: { ...model.set.spec, rollout: { ...model.set.spec.rollout, maxUnavailable: 100 } },
    }
    model.declare({ beacon: '1.1.0' })
    model.settle()
    expect(model.versions('beacon')).toEqual({ '1.1.0': 300 })
    expect(stepSizes(model)).toEqual([1, 5, 10, 50, 100, 100, 34])
    expect(model.set.status).toMatchObject({
      phase: 'Complete',
      counts: { total: 300, updated: 300, healthy: 300, failed: 0, skipped: 0 },
    })
  })

  test('of a bad version stops at the first machine, which went back by itself, and blocks the revision', () => {
    const model = fleet(20, { quality: (_, v) => (v === '1.2.0' ? 'probe fails' : 'good') })
    model.declare({ beacon: '1.2.0' })
    model.settle()
    expect(model.versions('beacon')).toEqual({ '1.0.0': 20 })
    expect(model.set.status?.phase).toBe('Blocked')
    expect(model.set.status?.revisions?.blocked).toMatchObject([{ component: 'beacon' }])
    expect(model.permits.size).toBe(1)
    expect(model.set.status?.waitingFor?.predicate).toBe('RevisionFailed')
  })

  test('is undone by a revert, as a recovery without a ladder', () => {
    const model = fleet(40, { quality: (_, v) => (v === '1.2.0' ? 'probe fails' : 'good') })
    const good = model.set.status?.revisions?.current
    model.declare({ beacon: '1.1.0' })
    for (let i = 0; i < 200 && (model.versions('beacon')['1.1.0'] ?? 0) < 8; i++) {
      const made = model.round()
      model.now += Math.min(made.requeueAfter ?? 0, 30_000)
    }
    model.declare({ beacon: '1.0.0' })
    model.settle()
    expect(model.versions('beacon')).toEqual({ '1.0.0': 40 })
    expect(model.set.status?.revisions).toEqual({ current: good, update: good })
    expect(model.revisions).toHaveLength(2)
    const back = [...model.permits.values()].filter((p) => p.spec.component?.version === '1.0.0')
    expect(back.length).toBeGreaterThan(0)
    expect(back.every((p) => p.spec.recovery)).toBe(true)
  })

  test('with onFailure Rollback brings back what had the bad version', () => {
    const model = fleet(30, { quality: (_, v, m) => (v === '1.2.0' && m >= 'm-0003' ? 'breaks' : 'good') })
    model.declare({ beacon: '1.2.0' }, { onFailure: 'Rollback', maxFailures: 1, spread: [] })
    model.settle()
    expect(model.versions('beacon')).toEqual({ '1.0.0': 30 })
    expect(model.set.status?.phase).toBe('Blocked')
  })

  test('of two components lets each climb by itself, and a change of one restarts only that one', () => {
    const machines = Array.from({ length: 30 }, (_, i) =>
      workingMachine(`m-${i}`, { versions: { beacon: '1.0.0', scribe: '1.0.0' } }),
    )
    const model = new RolloutModel({ machines, set: componentSet({ beacon: '1.0.0', scribe: '1.0.0' }), components })
    model.settle()
    model.declare({ beacon: '1.1.0', scribe: '1.1.0' }, { maxUnavailable: 4 })
    while ((model.versions('scribe')['1.1.0'] ?? 0) < 5) model.now += Math.min(model.round().requeueAfter ?? 0, 30_000)
    const steps = () =>
      Math.max(...(model.set.status?.waves ?? []).filter((w) => w.component === 'scribe').map((w) => w.step))
    const before = steps()
    model.declare({ beacon: '1.2.0', scribe: '1.1.0' })
    model.round()
    expect(steps()).toBeGreaterThanOrEqual(before)
    model.settle()
    expect(model.versions('beacon')).toEqual({ '1.2.0': 30 })
    expect(model.versions('scribe')).toEqual({ '1.1.0': 30 })
  })
})
