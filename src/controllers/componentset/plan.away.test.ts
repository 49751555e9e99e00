// Controllers that were away, or could not reach the API server: what did not happen meanwhile is not the version's fault.
import { describe, expect, test } from 'vitest'
import { fleet, until } from '#test/support/fleets/rollout-story.ts'

const HOUR_MS = 3_600_000

/** A slice switches, and its machines have no orders yet. */
function begun() {
  const model = fleet(5)
  model.declare({ beacon: '1.1.0' })
  while (model.set.status?.slices?.[0]?.phase !== 'Switching') {
    model.planTurn()
    model.defender()
    model.now += 1_000
  }
  return model
}

describe('a rollout whose controllers were away for longer than its progress deadline', () => {
  test('goes on where it was, and blames no version', () => {
    const model = begun()
    model.now += 2 * HOUR_MS
    model.planTurn()
    expect(model.set.status?.phase).toBe('Progressing')
    model.settle()
    expect(model.set.status).toMatchObject({ phase: 'Complete', counts: { total: 5, updated: 5 } })
  })

  test('waits for the whole deadline anew, and not longer', () => {
    const model = begun()
    model.now += 2 * HOUR_MS
    const back = model.now
    // No machine controller gives orders.
    while (model.set.status?.phase !== 'Blocked' && model.now < back + HOUR_MS) {
      model.planTurn()
      model.now += 20_000
    }
    expect(model.set.status?.revisions?.blocked?.[0]?.reason).toContain('no progress for 30m')
    expect(model.now - back).toBeGreaterThan(30 * 60_000)
    expect(model.now - back).toBeLessThan(31 * 60_000)
  })
})

test('a switch that takes longer than the progress deadline, and then works, blames no version', () => {
  const model = begun()
  const [name = ''] = model.set.status?.slices?.[0]?.machines ?? []
  const stateOf = () => model.machines.get(name)?.status?.components?.find((c) => c.name === 'beacon')?.state
  until(model, () => stateOf() === 'Probing')
  for (let n = 0; n < 120; n++) {
    model.planTurn()
    model.defender()
    model.now += 20_000
  }
  model.agent(name)
  expect(stateOf()).toBe('Healthy')
  model.planTurn()
  expect(model.set.status?.phase).toBe('Progressing')
  model.settle()
  expect(model.set.status?.phase).toBe('Complete')
})
