// Silent machines: fallen silent, or not joined yet. Neither is touched, and the status distinguishes them.
import { describe, expect, test } from 'vitest'
import type { Machine } from '#api/kinds/machine.ts'
import { componentSet, workingMachine } from '#test/support/fleets/rollout-fleet.ts'
import { RolloutModel } from '#test/support/fleets/rollout-model.ts'
import { components } from '#test/support/fleets/rollout-story.ts'

const reachable = (status: 'True' | 'False' | 'Unknown', reason: string) => ({
  type: 'AgentReachable',
  status,
  reason,
  message: '',
  lastTransitionTime: '2026-01-05T09:00:00Z',
})

const withStatus = (m: Machine, phase: string, c: ReturnType<typeof reachable>): Machine =>
  ({ ...m, status: { ...m.status, phase, conditions: [c] } }) as Machine

/** As the machine controller reports it while it waits for the agent's first heartbeat. */
const joining = (m: Machine): Machine => withStatus(m, 'Joining', reachable('Unknown', 'NotYetObserved'))
const servedBefore = (m: Machine): Machine => {
  const now = joining(m)
  return { ...now, status: { ...now.status, inServiceSince: '2026-01-04T09:00:00Z' } }
}
const silent = (m: Machine): Machine => withStatus(m, 'Ready', reachable('False', 'LeaseExpired'))
/** Its Lease was deleted after the machine had worked. */
const lapsed = (m: Machine): Machine => withStatus(m, 'Ready', reachable('Unknown', 'NotYetObserved'))

function planned(change: readonly ((m: Machine) => Machine)[]) {
  const machines = change.map((f, i) => f(workingMachine(`m-${i}`, { versions: { beacon: '1.0.0' }, zone: 'a' })))
  const set = componentSet({ beacon: '1.1.0' }, { maxUnavailable: 3 })
  const model = new RolloutModel({ machines, set, components })
  const { actions, status } = model.planTurn()
  return { wait: status.waitingFor, asks: actions.filter((a) => a.kind === 'RequestPermit').length, status }
}

const times = <T>(n: number, one: T): readonly T[] => Array.from({ length: n }, () => one)
const well = (m: Machine): Machine => m

describe('a set whose machines are not heard of', () => {
  test('because all of them are still joining says so, and speaks of no outage', () => {
    const { wait, asks } = planned(times(6, joining))
    expect(wait).toMatchObject({
      predicate: 'WaitingForOther',
      seen: '6 of 6 machines of the set still joining: no heartbeat from their agents yet',
    })
    expect(asks).toBe(0)
  })

  test('because a few are still joining says so of them', () => {
    const { wait, status } = planned(times(2, joining))
    expect(wait).toMatchObject({ predicate: 'WaitingForOther', seen: '2 machines are still joining, such as m-0' })
    expect(status.skipped?.[0]?.reason).toBe('still joining: no heartbeat from its agent yet')
  })

  test.each([
    ['silent ones', times(6, silent), 'ZoneOutage', '6 of 6 machines of the set silent'],
    ['such without a Lease that have worked', times(6, lapsed), 'ZoneOutage', '6 of 6 machines of the set silent'],
    [
      'both',
      [...times(3, silent), ...times(2, joining), ...times(5, well)],
      'ZoneOutage',
      '5 of 10 machines of the set silent, 2 of them still joining',
    ],
  ])('waits for %s as for an outage', (_, change, predicate, seen) => {
    const { wait, asks } = planned(change)
    expect(wait).toMatchObject({ predicate, seen })
    expect(asks).toBe(0)
  })

  test('disturbs nothing more for that: many joining machines close a rollout, and those that served count as down, as silent ones do', () => {
    const of = (few: number, one: (m: Machine) => Machine) =>
      planned([...times(few, one), ...times(20 - few, well)]).asks
    for (const few of [1, 2, 3, 4, 5]) expect([few, of(few, servedBefore)]).toEqual([few, of(few, silent)])
    expect([1, 2, 3, 4, 5].map((few) => of(few, joining))).toEqual([1, 1, 1, 1, 0])
  })

  test('names one that uses up the budget', () => {
    const { wait } = planned([...times(2, well), ...times(3, silent), ...times(15, well)])
    expect(wait).toMatchObject({
      predicate: 'BudgetExhausted',
      seen: '3 machines unavailable or switching (limit 3, maxUnavailable), such as m-2: no heartbeat from its agent',
    })
  })
})
