// A slice is decided once. Every plan of the model checks that. These are the cases that could break it.
import { describe, expect, test } from 'vitest'
import type { Slice } from '#api/kinds/machine-component-set.ts'
import { fleet, until } from '#test/support/fleets/rollout-story.ts'
import type { RolloutModel } from '#test/support/fleets/rollout-model.ts'
import { changedDecision } from '#test/support/fleets/slice-decisions.ts'

const slicesOf = (model: RolloutModel): readonly Slice[] => model.set.status?.slices ?? []
const numbers = (model: RolloutModel) => slicesOf(model).map(({ step, number }) => [step, number])

function rolling(): RolloutModel {
  const model = fleet(6)
  model.declare({ beacon: '1.1.0' }, { steps: [3], maxUnavailable: 3 })
  until(model, () => slicesOf(model).length > 0)
  return model
}

test('a slice that takes the place of one which the same write removes has another number', () => {
  const model = rolling()
  expect(numbers(model)).toEqual([[0, 0]])
  for (const name of slicesOf(model)[0]?.machines ?? []) model.machines.delete(name)
  model.planTurn()
  expect(numbers(model)).toEqual([[0, 1]])
})

test('a slice of another version may use the key again: it has a permit of its own', () => {
  const model = rolling()
  const [before] = slicesOf(model)
  model.declare({ beacon: '1.2.0' })
  until(model, () => slicesOf(model).some((s) => s.version === '1.2.0'))
  const [now] = slicesOf(model)
  expect([now?.step, now?.number]).toEqual([before?.step, before?.number])
  expect(now?.permit).not.toBe(before?.permit)
})

describe('a planted bug is found: a plan that', () => {
  test.each<[string, (slice: Slice) => Slice]>([
    ['takes out a machine', (s) => ({ ...s, machines: s.machines.slice(1) })],
    ['adds a machine', (s) => ({ ...s, machines: [...s.machines, 'm-9999'] })],
    ['exchanges a machine', (s) => ({ ...s, machines: ['m-9999', ...s.machines.slice(1)] })],
    ['goes to another version under its permit', (s) => ({ ...s, version: '1.2.0' })],
    ['turns back', (s) => ({ ...s, recovery: 'Rollback' })],
  ])('%s', (_, change) => {
    const model = rolling()
    model.distort = (made) => ({
      ...made,
      status: { ...made.status, slices: (made.status.slices ?? []).map(change) },
    })
    expect(() => model.planTurn()).toThrow(/step 1 slice 1/)
  })

  test('takes back a machine that it released', () => {
    const [slice] = slicesOf(rolling())
    if (slice === undefined) throw new Error('no slice')
    const released = { ...slice, released: slice.machines.slice(0, 1) }
    expect(changedDecision({ slices: [slice] }, { slices: [released] })).toBeUndefined()
    expect(changedDecision({ slices: [released] }, { slices: [slice] })).toMatch(/takes .* back/)
  })
})
