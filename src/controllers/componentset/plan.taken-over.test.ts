// A set or a canary takes machines over from a running slice. This set's orders no longer reach them, and the version is not to blame.
import { describe, expect, test } from 'vitest'
import type { Machine } from '#api/kinds/machine.ts'
import { timestamp } from '#lib/clock.ts'
import { componentSet } from '#test/support/fleets/rollout-fleet.ts'
import type { RolloutModel } from '#test/support/fleets/rollout-model.ts'
import { fleet, phases } from '#test/support/fleets/rollout-story.ts'

/** The slice of three waits or switches. No machine has its order yet. */
function opened(phase: 'AwaitingPermit' | 'Switching') {
  const model = fleet(10)
  model.declare({ beacon: '1.1.0' }, { steps: [3], maxUnavailable: 3 })
  model.planTurn()
  if (phase === 'Switching') {
    model.defender()
    model.planTurn()
  }
  expect(phases(model)).toEqual([phase])
  return { model, names: model.set.status?.slices?.[0]?.machines ?? [] }
}

const results = (model: RolloutModel) =>
  [...model.permits.values()].slice(0, 1).flatMap((p) => Object.values(p.spec.results ?? {}))

const PHASES = ['AwaitingPermit', 'Switching'] as const

describe('F18 a slice whose machines are taken over', () => {
  test.each(PHASES)('by a stronger set (%s) lets them go', (phase) => {
    const { model } = opened(phase)
    model.others = [componentSet({ beacon: '1.0.0' }, {}, { name: 'strong', priority: 10 })]
    model.settle()
    expect(results(model)).toEqual(['Released', 'Released', 'Released'])
    expect(model.set.status?.revisions?.blocked).toBeUndefined()
    expect(model.set.status?.phase).toBe('Complete')
  })

  test.each(PHASES)('by a canary (%s) lets them go, and goes on with the others', (phase) => {
    const { model, names } = opened(phase)
    const turn = model.machineController.bind(model)
    model.machineController = (name) => {
      const m = model.machines.get(name)
      if (m === undefined || !names.includes(name)) return turn(name)
      const components = [{ name: 'beacon', version: '2.0.0', attempt: 5, setRef: 'base', canaryRef: 'trial' }]
      model.machines.set(name, { ...m, spec: { ...m.spec, components } })
    }
    model.settle()
    expect(results(model)).toEqual(['Released', 'Released', 'Released'])
    expect(model.set.status?.revisions?.blocked).toBeUndefined()
    expect(model.versions('beacon')).toEqual({ '1.0.0': 3, '1.1.0': 7 })
  })
})

describe('F18 a machine whose node is frozen by a file', () => {
  const frozen = (m: Machine, at: number): Machine => ({
    ...m,
    status: {
      ...m.status,
      conditions: [
        ...(m.status?.conditions ?? []),
        { type: 'Frozen', status: 'True', reason: 'HoldFreeze', message: '', lastTransitionTime: timestamp(at) },
      ],
    },
  })
  const freeze = (model: RolloutModel, name: string): void => {
    const m = model.machines.get(name)
    if (m !== undefined) model.machines.set(name, frozen(m, model.now))
  }

  test('is not asked for, and delays no machine', () => {
    const model = fleet(4)
    freeze(model, 'm-0000')
    model.declare({ beacon: '1.1.0' }, { steps: [4], maxUnavailable: 4 })
    model.settle()
    expect(model.versions('beacon')).toEqual({ '1.0.0': 1, '1.1.0': 3 })
    expect(model.set.status?.skipped).toEqual([{ machine: 'm-0000', reason: 'frozen by a file on its node' }])
  })

  test.each(PHASES)('while its slice is at work (%s) is let go', (phase) => {
    const { model, names } = opened(phase)
    freeze(model, names[0] ?? '')
    model.settle()
    expect(model.versions('beacon')).toEqual({ '1.0.0': 1, '1.1.0': 9 })
    expect(model.set.status?.revisions?.blocked).toBeUndefined()
  })
})

test('a slice in which nothing moves says what its machine waits for', () => {
  const { model, names } = opened('Switching')
  model.agent = () => undefined
  model.machineController = (name) => {
    const m = model.machines.get(name)
    if (m === undefined) return
    const waitingFor = {
      predicate: 'Drained',
      seen: '3 pods are left, the first a/b',
      since: timestamp(model.now),
      unblock: '',
    }
    model.machines.set(name, { ...m, status: { ...m.status, waitingFor } })
  }
  for (let i = 0; i < 40; i++) model.round(60_000)
  expect(names).toHaveLength(3)
  expect(model.set.status?.revisions?.blocked?.[0]?.reason).toBe(
    'step 1 of 4: no progress for 30m; m-0000: Healthy (waiting, Drained: 3 pods are left, the first a/b)',
  )
})
