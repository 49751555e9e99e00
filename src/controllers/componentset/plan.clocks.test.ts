// F16 node clocks may be wrong: a machine's reports have its own time, and nothing depends on that alone.
import { describe, expect, test } from 'vitest'
import { timestamp } from '#lib/clock.ts'
import type { RolloutModel } from '#test/support/fleets/rollout-model.ts'
import { fleet, holdOn, phases, until } from '#test/support/fleets/rollout-story.ts'
import { defined } from '#lib/defined.ts'

const HOUR_MS = 3_600_000

/** The agents' clocks differ from ours by this much. */
function skewed(model: RolloutModel, byMs: number): void {
  const turn = model.agent.bind(model)
  model.agent = (name) => {
    const before = model.machines.get(name)?.status?.components
    turn(name)
    const m = model.machines.get(name)
    if (m === undefined || m.status?.components === before) return
    const components = m.status?.components?.map((c) => ({ ...c, since: timestamp(model.now + byMs) }))
    model.machines.set(name, { ...m, status: { ...m.status, ...defined({ components }) } })
  }
}

describe.each([
  ['an hour behind', -HOUR_MS],
  ['an hour ahead', HOUR_MS],
])('with clocks of nodes that are %s', (_, byMs) => {
  const bad = () => {
    let isBad = true
    const model = fleet(10, { quality: (_c, v) => (v === '1.2.0' && isBad ? 'breaks' : 'good') })
    skewed(model, byMs)
    return { model, mend: () => void (isBad = false) }
  }

  test('F16 a failure is seen that came before the slice was seen to begin', () => {
    const { model } = bad()
    model.declare({ beacon: '1.2.0' })
    model.planTurn()
    expect(phases(model)).toEqual(['AwaitingPermit'])
    // The planner does not run while the Defender grants, the machine is ordered to switch, and it fails.
    model.defender()
    const [name = ''] = model.set.status?.slices?.[0]?.machines ?? []
    for (let i = 0; i < 8; i++) {
      model.machineController(name)
      model.agent(name)
      model.now += 1_000
    }
    expect(model.machines.get(name)?.status?.components?.[0]?.state).toBe('Failed')
    model.settle()
    expect(model.set.status?.phase).toBe('Blocked')
  })

  test('F16 a retry is one, and what fails again is blocked again', () => {
    const { model } = bad()
    model.declare({ beacon: '1.2.0' })
    model.settle()
    expect(model.set.status?.phase).toBe('Blocked')
    const before = model.permits.size
    model.now += 60_000
    model.holds = [holdOn(model, 'Retry', { until: timestamp(model.now + 24 * HOUR_MS) })]
    model.settle()
    expect(model.set.status?.phase).toBe('Blocked')
    expect(model.permits.size - before).toBe(1)
  })

  test('F16 a retry that is asked for while the first machine switches leads a bad version no step further', () => {
    const { model } = bad()
    model.declare({ beacon: '1.2.0' })
    until(model, () => phases(model)[0] === 'Switching')
    model.now += 2_000
    model.holds = [holdOn(model, 'Retry', { until: timestamp(model.now + 24 * HOUR_MS) })]
    model.settle()
    expect(model.set.status?.phase).toBe('Blocked')
    expect(Math.max(...[...model.permits.values()].map((p) => p.spec.targets.length))).toBe(1)
    expect(model.permits.size).toBeLessThanOrEqual(2)
  })

  test('F16 a retry also takes the machine that broke', () => {
    const { model, mend } = bad()
    model.declare({ beacon: '1.2.0' })
    model.settle()
    mend()
    model.now += 60_000
    model.holds = [holdOn(model, 'Retry', { until: timestamp(model.now + 24 * HOUR_MS) })]
    until(model, () => model.versions('beacon')['1.2.0'] === 10)
    expect(model.set.status?.revisions?.blocked).toBeUndefined()
  })
})
