// Machines that come to a set from elsewhere, in numbers: the version that the set has finished with was never tried on them.
import { describe, expect, test } from 'vitest'
import { componentSet } from '#test/support/fleets/rollout-fleet.ts'
import type { RolloutModel } from '#test/support/fleets/rollout-model.ts'
import { fleet, until } from '#test/support/fleets/rollout-story.ts'

const relabel = (model: RolloutModel, names: readonly string[], labels: Readonly<Record<string, string>>): void => {
  for (const name of names) {
    const m = model.machines.get(name)
    if (m !== undefined) model.machines.set(name, { ...m, metadata: { ...m.metadata, labels } })
  }
}

const POOL = { 'kubenode.io/pool': 'workers' }
const asked = (model: RolloutModel, version: string): number =>
  [...model.permits.values()]
    .filter((p) => p.spec.component?.version === version)
    .reduce((n, p) => n + p.spec.targets.length, 0)

/** `own` machines belong to the set and have 1.1.0. The others belong to no set and have 1.0.0. */
function grown(count: number, own: number, isBad: (machine: string) => boolean) {
  const model = fleet(count, { quality: (_, v, m) => (v === '1.1.0' && isBad(m) ? 'probe fails' : 'good') })
  const rest = [...model.machines.keys()].slice(own)
  relabel(model, rest, { 'kubenode.io/pool': 'others' })
  model.declare({ beacon: '1.1.0' })
  model.settle()
  return { model, rest, comes: () => relabel(model, rest, POOL) }
}

describe('F18 machines that a moved selector brings to a set', () => {
  test('climb the ladder when they are more than those that proved the version, and a version that is bad on them stops at the first', () => {
    const { model, comes } = grown(40, 4, (m) => m > 'm-0003')
    expect(model.set.status?.phase).toBe('Complete')
    const before = asked(model, '1.1.0')
    comes()
    model.settle()
    expect(asked(model, '1.1.0') - before).toBe(1)
    expect(model.set.status).toMatchObject({ phase: 'Blocked', counts: { total: 40, updated: 4 } })
  })

  test('all get there when it is good on them', () => {
    const { model, comes } = grown(40, 4, () => false)
    comes()
    model.settle()
    expect(model.versions('beacon')).toEqual({ '1.1.0': 40 })
    expect(model.set.status?.phase).toBe('Complete')
  })

  test('simply catch up when they are few', () => {
    const { model, comes } = grown(40, 30, () => false)
    const before = model.permits.size
    comes()
    model.settle()
    expect(model.versions('beacon')).toEqual({ '1.1.0': 40 })
    const sizes = [...model.permits.values()].slice(before).map((p) => p.spec.targets.length)
    expect(sizes[0]).toBe(4)
  })

  test('do not make a way back of what is bad on them', () => {
    const { model, comes } = grown(40, 4, (m) => m > 'm-0003')
    model.declare({ beacon: '1.1.0' }, { onFailure: 'Rollback' })
    model.settle()
    const before = asked(model, '1.1.0')
    comes()
    model.settle()
    expect(asked(model, '1.1.0') - before).toBe(1)
  })
})

describe('F18 a set whose component another set decides about', () => {
  const overruled = () => {
    const model = fleet(40, { quality: (_, v) => (v === '1.1.0' ? 'probe fails' : 'good') })
    const healthy = model.set.status?.revisions?.current
    model.others = [componentSet({ beacon: '1.0.0' }, {}, { name: 'strong', priority: 10 })]
    model.declare({ beacon: '1.1.0' })
    model.settle()
    return { model, healthy }
  }

  test('has tried nothing, so its version is none to return to', () => {
    const { model, healthy } = overruled()
    expect(model.set.status?.phase).toBe('Complete')
    expect(model.set.status?.revisions?.current).toBe(healthy)
  })

  test('climbs the ladder when the other set is deleted, and stops at the first machine on which it fails', () => {
    const { model } = overruled()
    model.others = []
    model.settle()
    expect(asked(model, '1.1.0')).toBe(1)
    expect(model.set.status?.phase).toBe('Blocked')
    expect(model.versions('beacon')).toEqual({ '1.0.0': 40 })
  })
})

test('machines of an aborted canary go back at once, also where they are most of the set', () => {
  const model = fleet(3)
  for (const [name, m] of model.machines) {
    if (name === 'm-0000') continue
    const told = { name: 'beacon', version: '1.2.0', setRef: 'base', attempt: 2 }
    const { setRef: _, ...bare } = told
    const report = { ...bare, desired: '1.2.0', state: 'Healthy' as const, since: new Date(model.now).toISOString() }
    model.machines.set(name, {
      ...m,
      spec: { ...m.spec, components: [told] },
      status: { ...m.status, components: [report] },
    })
  }
  const start = model.now
  until(model, () => model.versions('beacon')['1.0.0'] === 3)
  expect(model.now - start).toBeLessThan(60_000)
})

test('F18 a machine that leaves the set in the middle of its switch counts in the budget until its slot is free', () => {
  const model = fleet(10)
  model.declare({ beacon: '1.1.0' }, { maxUnavailable: 2, steps: [10] })
  until(model, () => model.atWork().length === 2)
  const [leaver = ''] = model.atWork()
  relabel(model, [leaver], {})
  const open: number[] = []
  model.onPlan = () =>
    open.push([...model.permits.values()].flatMap((p) => p.spec.targets.filter((t) => !p.spec.results?.[t.uid])).length)
  model.settle()
  expect(Math.max(...open)).toBe(2)
  expect(model.set.status?.phase).toBe('Complete')
})
