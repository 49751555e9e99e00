import { describe, expect, test } from 'vitest'
import { componentSet } from '#test/support/fleets/rollout-fleet.ts'
import { fleet } from '#test/support/fleets/rollout-story.ts'
import { stepCount, stepName } from './ladder.ts'
import { plan } from '../plan.ts'

describe('the steps of a ladder', () => {
  test.each([
    [[1, 5, 10, 50, 100], 300, 7],
    [[1, 5, 10, 50, 100], 6, 2],
    [[1, 5, 10, 50, 100], 1, 1],
    [[1, 5], 0, 0],
    [[2], 5, 3],
    [['20%', '50%'], 10, 3],
    [['1%'], 3, 3],
    [[], 2, 2],
  ] as const)('%j over %i machines are %i', (steps, counting, count) => {
    expect(stepCount(steps, counting)).toBe(count)
  })

  test('are counted from one, and the last is never past the end', () => {
    expect([stepName(0, 5), stepName(4, 5), stepName(6, 5)]).toEqual(['step 1 of 5', 'step 5 of 5', 'step 7 of 7'])
  })
})

test('steps are numbered from one', () => {
  const model = fleet(7)
  model.declare({ beacon: '1.1.0' })
  const { notices, actions } = plan(model.seen(), model.now)
  expect(notices.map((n) => n.message)).toEqual(['beacon 1.1.0: step 1 of 3 opens with 1 machine'])
  expect(actions.filter((a) => a.kind === 'RequestPermit')).toMatchObject([
    { reason: 'beacon 1.1.0: step 1 of 3, slice 1', request: { reason: 'beacon 1.1.0: step 1 of 3' } },
  ])
  model.set = componentSet({ beacon: '1.1.0' }, { steps: [5], maxUnavailable: 5 })
  expect(plan(model.seen(), model.now).notices.map((n) => n.message)).toEqual([
    'beacon 1.1.0: step 1 of 2 opens with 5 machines',
  ])
})
