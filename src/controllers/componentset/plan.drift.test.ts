// Changes made on nodes: a fresh copy comes in slices like any other change, and not forever.
import { holdOn } from '#test/support/fleets/holds.ts'
import { describe, expect, test } from 'vitest'
import { MOST_FRESH_COPIES } from '#api/protocol/fresh-copy.ts'
import type { RolloutModel } from '#test/support/fleets/rollout-model.ts'
import { fleet, until } from '#test/support/fleets/rollout-story.ts'

const CHANGED = 'somebody changed /opt/beacon/bin/beacon; it waits for a switch order'

function change(model: RolloutModel, names: readonly string[]): void {
  for (const name of names) {
    const machine = model.machines.get(name)
    if (machine === undefined) throw new Error(name)
    const components = (machine.status?.components ?? []).map((c) => ({ ...c, drifted: CHANGED }))
    model.machines.set(name, { ...machine, status: { ...machine.status, components } })
  }
}
const drifted = (model: RolloutModel) =>
  [...model.machines.values()].filter((m) => m.status?.components?.some((c) => c.drifted !== undefined)).length
const entry = (model: RolloutModel, name: string) => model.machines.get(name)?.spec.components?.[0]

describe('a machine on which a component was modified', () => {
  test('gets a fresh copy under a permit, and the set is complete before and after', () => {
    const model = fleet(10)
    const { revisions } = model.set.status ?? {}
    change(model, ['m-0003'])
    until(model, () => model.set.status?.phase === 'Progressing')
    model.settle()
    expect(drifted(model)).toBe(0)
    expect(entry(model, 'm-0003')).toMatchObject({ version: '1.0.0', attempt: 2, fresh: 1 })
    expect([...model.permits.values()].map((p) => p.spec.targets.map((t) => t.name))).toEqual([['m-0003']])
    expect(model.set.status).toMatchObject({ phase: 'Complete', revisions })
    expect(model.set.status?.revisions?.blocked).toBeUndefined()
  })

  test('never costs more than the budget, however many there are at once', () => {
    const model = fleet(40, {})
    change(model, [...model.machines.keys()])
    let most = 0
    model.onPlan = () => void (most = Math.max(most, model.atWork().length))
    until(model, () => drifted(model) === 0)
    expect(most).toBeGreaterThan(0)
    expect(most).toBeLessThanOrEqual(4)
    model.settle()
    expect(model.set.status?.phase).toBe('Complete')
  })

  test('is left after a few fresh copies, with the reason, and tried again a day later', () => {
    const model = fleet(5)
    const attempts = () => entry(model, 'm-0001')?.attempt ?? 0
    for (let n = 0; n < MOST_FRESH_COPIES; n++) {
      change(model, ['m-0001'])
      until(model, () => drifted(model) === 0 && model.set.status?.phase === 'Complete')
    }
    change(model, ['m-0001'])
    const before = model.now
    for (let n = 0; n < 50; n++) model.round()
    expect(attempts()).toBe(1 + MOST_FRESH_COPIES)
    expect(drifted(model)).toBe(1)
    expect(model.set.status?.skipped).toEqual([
      { machine: 'm-0001', reason: `still modified after ${MOST_FRESH_COPIES} reinstalls: ${CHANGED}` },
    ])
    expect(model.set.status?.phase).toBe('Complete')
    // Until nothing is scheduled any more.
    model.settle()
    expect(model.now - before).toBeGreaterThan(23 * 3_600_000)
    expect(drifted(model)).toBe(0)
    expect(entry(model, 'm-0001')?.fresh).toBe(1)
  })

  test('that is silent is left alone', () => {
    const model = fleet(10)
    change(model, ['m-0002'])
    const machine = model.machines.get('m-0002')
    const conditions = [
      {
        type: 'AgentReachable',
        status: 'False' as const,
        reason: 'LeaseExpired',
        message: '',
        lastTransitionTime: '2026-01-05T10:00:00Z',
      },
    ]
    if (machine !== undefined) model.machines.set('m-0002', { ...machine, status: { ...machine.status, conditions } })
    model.settle()
    expect(model.permits.size).toBe(0)
  })

  test('waits while a new version climbs its ladder, and gets that like the others', () => {
    const model = fleet(20)
    model.declare({ beacon: '1.1.0' })
    until(model, () => (model.versions('beacon')['1.1.0'] ?? 0) >= 3)
    const done =
      [...model.machines.values()].find((m) => m.status?.components?.[0]?.version === '1.1.0')?.metadata.name ?? ''
    change(model, [done, 'm-0019'])
    until(model, () => (model.versions('beacon')['1.1.0'] ?? 0) === 20)
    expect(entry(model, done)?.attempt).toBe(2)
    model.settle()
    expect(drifted(model)).toBe(0)
    expect(entry(model, done)?.attempt).toBe(3)
  })

  test('gets none while a hold pauses the set', () => {
    const model = fleet(5)
    change(model, ['m-0001'])
    model.holds = [holdOn('MachineComponentSet', 'base', { until: new Date(model.now + 60_000).toISOString() })]
    for (let n = 0; n < 20; n++) model.round()
    expect(model.permits.size).toBe(0)
    expect(model.set.status?.waitingFor?.predicate).toBe('HoldPause')
  })
})
