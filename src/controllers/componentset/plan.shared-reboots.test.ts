// A kernel and a driver in one commit: their slices open for the same machines, each machine gets both orders at once, and neither is blamed for the other.
import { describe, expect, test } from 'vitest'
import { activeMachines } from '#api/protocol/part.ts'
import type { Machine } from '#api/kinds/machine.ts'
import { isSwitching } from '#api/protocol/switch.ts'
import { type Quality, component } from '#test/support/fleets/rollout-fleet.ts'
import type { RolloutModel } from '#test/support/fleets/rollout-model.ts'
import { fleet, until } from '#test/support/fleets/rollout-story.ts'

const BEFORE = { kernel: '1.0.0', driver: '1.0.0' }
const AFTER = { kernel: '1.1.0', driver: '1.1.0' }
const definitions = (disruption: string) =>
  Object.keys(BEFORE).flatMap((name) => ['1.0.0', '1.1.0'].map((v) => component(name, v, { disruption })))

interface Watched {
  readonly model: RolloutModel
  /** How often each machine was disrupted. */
  readonly times: Map<string, number>
  readonly most: () => number
}

function watched(count: number, quality: Quality = () => 'good', disruption = 'Reboot'): Watched {
  const model = fleet(count, { versions: BEFORE, components: definitions(disruption), quality })
  const times = new Map<string, number>()
  let most = 0
  let before = new Set<string>()
  const check = model.onPlan
  model.onPlan = (plan, seen) => {
    check(plan, seen)
    const now = new Set(seen.machines.filter(isDisrupted).map((m) => m.metadata.name ?? ''))
    for (const name of now) if (!before.has(name)) times.set(name, (times.get(name) ?? 0) + 1)
    most = Math.max(most, now.size)
    before = now
  }
  return { model, times, most: () => most }
}

const isDisrupted = ({ status }: Machine): boolean => status?.components?.some((c) => isSwitching(c.state)) === true

const openOn = (model: RolloutModel, name: string) =>
  (model.set.status?.slices ?? []).filter((w) => w.component === name && w.phase !== 'Passed').flatMap(activeMachines)

describe('two components that reboot their machines', () => {
  test('reboot each machine once, within the budget of one, step by step', () => {
    const { model, times, most } = watched(20)
    model.declare(AFTER, { maxUnavailable: 1, steps: [1, 5, '100%'] })
    until(model, () => openOn(model, 'kernel').length > 0)
    expect(openOn(model, 'driver')).toEqual(openOn(model, 'kernel'))
    model.settle()
    expect([model.versions('kernel'), model.versions('driver')]).toEqual([{ '1.1.0': 20 }, { '1.1.0': 20 }])
    expect([new Set(times.values()), times.size, most()]).toEqual([new Set([1]), 20, 1])
    expect(model.set.status?.phase).toBe('Complete')
  })

  test.each([['10%'], [7], ['100%']] as const)('reboot each machine once with a budget of %s', (maxUnavailable) => {
    const { model, times } = watched(45)
    model.declare(AFTER, { maxUnavailable })
    model.settle()
    expect([new Set(times.values()), times.size]).toEqual([new Set([1]), 45])
  })

  test('that do not reboot stay apart: each costs its own disruption', () => {
    const { model, times } = watched(6, undefined, 'Restart')
    model.declare(AFTER, { maxUnavailable: 1 })
    model.settle()
    expect(new Set(times.values())).toEqual(new Set([2]))
  })

  test('a driver that cannot be staged delays the kernel until its own deadline, and the kernel is not blamed', () => {
    const { model } = watched(4, (name, v) => (name === 'driver' && v === '1.1.0' ? 'refused' : 'good'))
    model.declare(AFTER, { maxUnavailable: 1, progressDeadline: '10m' })
    until(model, () => model.set.status?.slices?.some((w) => w.waitingFor?.seen?.includes('one reboot')) === true)
    model.settle()
    expect([model.versions('kernel'), model.versions('driver')]).toEqual([{ '1.1.0': 4 }, { '1.0.0': 4 }])
    expect(model.set.status?.revisions?.blocked).toMatchObject([{ component: 'driver' }])
  })

  test('a driver that went back because of the kernel is not blamed, and is tried alone', () => {
    const { model } = watched(4, (name, v) => (name === 'kernel' && v === '1.1.0' ? 'probe fails' : 'good'))
    let isShared = true
    const agent = model.agent.bind(model)
    // As an agent does: both go back when one fails.
    model.agent = (name) => {
      agent(name)
      const machine = model.machines.get(name)
      const { components: reports = [] } = machine?.status ?? {}
      const hasFailed = reports.some((r) => r.name === 'kernel' && r.state === 'RolledBack')
      if (machine === undefined || !hasFailed || !isShared) return
      isShared = false
      const components = reports.map((r) =>
        r.name === 'driver'
          ? { ...r, version: '1.0.0', state: 'RolledBack' as const, reason: 'RebootShared', message: 'kernel failed' }
          : r,
      )
      model.machines.set(name, { ...machine, status: { ...machine.status, components } })
    }
    model.declare(AFTER, { maxUnavailable: 1 })
    model.settle()
    expect([model.versions('kernel'), model.versions('driver')]).toEqual([{ '1.0.0': 4 }, { '1.1.0': 4 }])
    expect(model.set.status?.revisions?.blocked).toMatchObject([{ component: 'kernel' }])
  })
})
