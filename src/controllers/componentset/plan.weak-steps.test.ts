// A step that gathered no evidence is no step: its machines are all unhealthy or deleted, or have failed since.
import { describe, expect, test } from 'vitest'
import { readyNode, workingMachine } from '#test/support/fleets/rollout-fleet.ts'
import type { RolloutModel } from '#test/support/fleets/rollout-model.ts'
import { fleet, holdOn, phases, until } from '#test/support/fleets/rollout-story.ts'

const firstMachine = (model: RolloutModel): string => model.set.status?.slices?.[0]?.machines[0] ?? ''

function breakNode(model: RolloutModel, name: string): void {
  const node = readyNode(name)
  const conditions = (node.status?.conditions ?? []).map((c) => ({
    ...c,
    status: 'False' as const,
    message: 'no network',
  }))
  model.nodes.set(name, { ...node, status: { conditions } })
}

const rounds = (model: RolloutModel, count: number): void => {
  for (let i = 0; i < count; i++) model.round()
}

const STEPS = { steps: [1, 5], maxUnavailable: 5, soak: '1m' } as const

describe('a step whose only machine is not well', () => {
  test('does not pass because a failure is allowed, and fails in the end', () => {
    const model = fleet(20)
    model.declare({ beacon: '1.1.0' }, { ...STEPS, maxFailures: 1 })
    until(model, () => phases(model).includes('Switching'))
    breakNode(model, firstMachine(model))
    rounds(model, 150)
    expect([phases(model), model.versions('beacon')]).toEqual([['Inspecting'], { '1.0.0': 19, '1.1.0': 1 }])
    rounds(model, 300)
    expect(model.set.status?.revisions?.blocked).toMatchObject([
      { reason: expect.stringContaining('its Node is not Ready: no network') },
    ])
  })

  test('one of five is still tolerated where a failure is allowed', () => {
    const model = fleet(20)
    model.declare({ beacon: '1.1.0' }, { ...STEPS, steps: [5], maxFailures: 1 })
    until(model, () => phases(model).includes('Switching'))
    breakNode(model, firstMachine(model))
    until(model, () => (model.set.status?.slices ?? []).some((w) => w.step === 1))
  })
})

describe('a step whose machines are deleted before it has passed', () => {
  test.each(['Inspecting', 'Soaking'])('in %s is taken again with another machine', (phase) => {
    const model = fleet(20)
    model.declare({ beacon: '1.1.0' }, STEPS)
    until(model, () => phases(model).includes('Switching'))
    const name = firstMachine(model)
    if (phase === 'Inspecting') breakNode(model, name)
    until(model, () => phases(model).includes(phase))
    model.machines.delete(name)
    model.nodes.delete(name)
    until(model, () => phases(model).includes('Soaking') && firstMachine(model) !== name)
    expect(model.set.status?.slices?.map((w) => [w.step, w.phase, w.machines.length])).toEqual([[0, 'Soaking', 1]])
    model.settle()
    expect(model.versions('beacon')).toEqual({ '1.1.0': 19 })
  })
})

describe('a step that is interrupted before it has its machines', () => {
  /** How many machines each step has tried. */
  const triedBy = (model: RolloutModel) => {
    const tried: number[] = []
    for (const { step, machines } of model.set.status?.slices ?? []) tried[step] = (tried[step] ?? 0) + machines.length
    return tried
  }

  const rollout = { ...STEPS, maxUnavailable: 1 }
  const closed = { windows: [{ cron: '0 3 * * *', duration: '1h', timeZone: 'UTC' }] }

  test.each<[string, number, (model: RolloutModel) => void, (model: RolloutModel) => void]>([
    // It lets the machine go that has not begun.
    ['a hold', 1, (m) => (m.holds = [holdOn(m, 'Pause')]), (m) => (m.holds = [])],
    [
      'the end of its window',
      2,
      (m) => m.declare({ beacon: '1.1.0' }, { ...rollout, ...closed }),
      (m) => m.declare({ beacon: '1.1.0' }, { ...rollout, windows: [] }),
    ],
  ])('by %s does not pass on those it has, and then goes on', (_, inStep, close, open) => {
    const model = fleet(20)
    model.declare({ beacon: '1.1.0' }, rollout)
    until(model, () => triedBy(model)[1] === 2 && phases(model).includes('Switching'))
    close(model)
    rounds(model, 300)
    expect(triedBy(model)).toEqual([1, inStep])
    expect(phases(model)).toEqual(['Passed', ...Array.from({ length: inStep }, () => 'Inspecting')])
    open(model)
    until(model, () => phases(model).includes('Soaking'))
    expect(triedBy(model)).toEqual([1, 5])
    model.settle()
    expect(model.versions('beacon')).toEqual({ '1.1.0': 20 })
  })
})

describe('a version that fails where no slice switches it', () => {
  test('on a machine that joins in the soak, is blocked and taken back', () => {
    const model = fleet(20, {
      quality: (_, version, name) => (name === 'new' && version === '1.1.0' ? 'breaks' : 'good'),
    })
    model.declare({ beacon: '1.1.0' }, { ...STEPS, onFailure: 'Rollback' })
    until(model, () => phases(model).includes('Soaking'))
    const fresh = workingMachine('new', { zone: 'z-0' })
    model.machines.set('new', { ...fresh, status: { ...fresh.status, phase: 'Installing', components: [] } })
    model.nodes.set('new', readyNode('new'))
    model.settle()
    expect([model.set.status?.phase, model.versions('beacon')]).toEqual(['Blocked', { '1.0.0': 21 }])
    expect(model.set.status?.revisions?.blocked).toMatchObject([
      { reason: '1 machine failed (0 allowed); new: Failed' },
    ])
  })

  test('on a machine of the step that it broke since, is blocked and taken back', () => {
    const model = fleet(20)
    model.declare({ beacon: '1.1.0' }, { ...STEPS, onFailure: 'Rollback' })
    until(model, () => phases(model).includes('Soaking'))
    const name = firstMachine(model)
    const machine = model.machines.get(name)
    if (machine === undefined) throw new Error('it is gone')
    const components = (machine.status?.components ?? []).map((c) => ({ ...c, state: 'Failed' as const }))
    model.machines.set(name, { ...machine, status: { ...machine.status, components } })
    model.settle()
    expect([model.set.status?.phase, model.versions('beacon')]).toEqual(['Blocked', { '1.0.0': 20 }])
  })

  test('is not given up while the machines of a new set join: the others get it', () => {
    const model = fleet(0, { quality: (_, __, name) => (name === 'n-0' ? 'breaks' : 'good') })
    for (let i = 0; i < 6; i++) {
      if (i === 3) rounds(model, 20)
      const fresh = workingMachine(`n-${i}`, { zone: 'z-0' })
      model.machines.set(`n-${i}`, { ...fresh, status: { ...fresh.status, phase: 'Installing', components: [] } })
      model.nodes.set(`n-${i}`, readyNode(`n-${i}`))
    }
    rounds(model, 60)
    expect(model.versions('beacon')).toEqual({ '1.0.0': 5, none: 1 })
  })
})
