// A component that is removed from its set is removed from the machines, slice by slice, under permits like any other change.
import { expect, test } from 'vitest'
import { componentSet } from '#test/support/fleets/rollout-fleet.ts'
import { fleet, until } from '#test/support/fleets/rollout-story.ts'

const both = { beacon: '1.0.0', scribe: '1.0.0' }
const permitsFor = (model: ReturnType<typeof fleet>, name: string) =>
  [...model.permits.values()].filter((p) => p.spec.component?.name === name)

test('a component that its set drops is taken off machine by machine, never more at once than the budget', () => {
  const model = fleet(20, { versions: both })
  let most = 0
  model.onPlan = (_, { machines }) => {
    const going = machines.filter((m) => !m.spec.components?.some((c) => c.name === 'scribe')).length
    const gone = machines.filter((m) => !m.status?.components?.some((c) => c.name === 'scribe')).length
    most = Math.max(most, going - gone)
  }
  model.declare({ beacon: '1.0.0' })
  model.settle()
  expect(model.versions('scribe')).toEqual({ none: 20 })
  expect(model.versions('beacon')).toEqual({ '1.0.0': 20 })
  expect(most).toBeLessThanOrEqual(2)
  expect(model.set.status?.phase).toBe('Complete')
  const asked = permitsFor(model, 'scribe')
  expect(asked.map((p) => p.spec.targets.length).slice(0, 2)).toEqual([1, 2])
  expect(asked.every((p) => p.status?.phase === 'Released' && p.spec.component?.version === undefined)).toBe(true)
})

test('without a grant nothing is taken off', () => {
  const model = fleet(5, { versions: both })
  model.defender = () => undefined
  model.declare({ beacon: '1.0.0' })
  for (let i = 0; i < 30; i++) model.round()
  expect(model.versions('scribe')).toEqual({ '1.0.0': 5 })
  expect(model.set.status?.waitingFor?.predicate).toBe('PermitRequested')
})

test('a revert in the middle brings it back where it was gone', () => {
  const model = fleet(20, { versions: both })
  model.declare({ beacon: '1.0.0' })
  until(model, () => (model.versions('scribe')['none'] ?? 0) >= 4)
  model.declare(both)
  model.settle()
  expect(model.versions('scribe')).toEqual({ '1.0.0': 20 })
})

test('a component that another set takes over stays', () => {
  const model = fleet(6, { versions: both })
  model.others = [componentSet({ scribe: '1.0.0' }, {}, { name: 'heir', priority: -5 })]
  model.declare({ beacon: '1.0.0' })
  model.settle()
  expect(model.versions('scribe')).toEqual({ '1.0.0': 6 })
  expect(permitsFor(model, 'scribe')).toEqual([])
})

test('a machine that was away catches up when it is back', () => {
  const model = fleet(6, { versions: both })
  const away = model.machines.get('m-0003')
  const phase = (p: 'Failed' | 'Ready') =>
    away && model.machines.set('m-0003', { ...away, status: { ...away.status, phase: p } })
  phase('Failed')
  model.declare({ beacon: '1.0.0' }, { maxUnavailable: 3 })
  model.settle()
  expect(model.versions('scribe')).toEqual({ none: 5, '1.0.0': 1 })
  phase('Ready')
  model.settle()
  expect(model.versions('scribe')).toEqual({ none: 6 })
})

test('a component that is new and bad is taken off again with onFailure Rollback', () => {
  const model = fleet(12, { quality: (c, _, m) => (c === 'scribe' && m > 'm-0003' ? 'breaks' : 'good') })
  model.declare(both, { onFailure: 'Rollback', spread: [] })
  model.settle()
  const left = [...model.machines.values()].filter((m) => m.spec.components?.some((c) => c.name === 'scribe'))
  expect(left).toEqual([])
  expect(model.set.status?.phase).toBe('Blocked')
})
