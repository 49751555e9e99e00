// Which share of machines a limit allows, and what a change loosens: a number is judged like a percentage.
import { describe, expect, test } from 'vitest'
import { PAST_START, PastLines, policyOf, remedierOf } from '#test/support/worlds/past-lines.ts'
import { Backtest } from './backtest.ts'

/** Ten machines: three in zone a, seven in zone b. */
const past = new PastLines()
for (let n = 0; n < 10; n++) past.node(PAST_START, `n${n}`, { zone: n < 3 ? 'a' : 'b', rack: `r${n % 5}` })

interface Limits {
  readonly maxInFlight?: number | string
  readonly policy?: object
}

async function compared(base: Limits, change: Limits) {
  const declared = ({ maxInFlight, policy }: Limits) => ({
    rules: maxInFlight === undefined ? [] : [remedierOf('dead', 'Dead', { limits: { maxInFlight } })],
    policies: policy === undefined ? [] : [policyOf('p', policy)],
  })
  const backtest = new Backtest({ cluster: 'prod-1', base: declared(base), change: declared(change), seeds: 0 })
  for (const line of past.lines()) await backtest.take(line)
  return backtest.end(PAST_START + 60_000)
}

const unavailable = (max: number | string, more: object = {}) => ({ budgets: [{ max, of: 'unavailable', ...more }] })

describe('what a change loosens', () => {
  test.each<readonly [string, Limits, Limits, number, string]>([
    ['a number of a rule', { maxInFlight: 2 }, { maxInFlight: 10 }, 1, 'rule dead: limits.maxInFlight, 10 of 10 nodes'],
    ['a number for a percentage', { maxInFlight: '50%' }, { maxInFlight: 6 }, 0.6, 'limits.maxInFlight, 6 of 10 nodes'],
    ['a percentage for a number', { maxInFlight: 2 }, { maxInFlight: '100%' }, 1, 'rule dead: limits.maxInFlight'],
    [
      'a number of machines',
      {},
      { policy: unavailable(10) },
      1,
      'policy p: unavailable per cluster, 10 of 10 machines',
    ],
    ['a number of a zone', {}, { policy: unavailable(3, { per: 'zone' }) }, 1, 'unavailable per zone, 3 of 3 machines'],
    ['no budget', {}, { policy: { rates: [{ window: '1h', max: 10 }] } }, 1, 'no budget in policy p'],
    ['a budget removed', { policy: unavailable('10%') }, { policy: { healthFloor: 1 } }, 1, 'no budget in policy p'],
  ])('%s', async (_, base, change, share, what) => {
    const { loosened } = await compared(base, change)
    expect(loosened).toEqual({ share, what: expect.stringContaining(what) })
  })

  test.each<readonly [string, Limits, Limits]>([
    ['a tighter limit', { maxInFlight: '100%' }, { maxInFlight: 6 }],
    ['the same limit', { maxInFlight: 9 }, { maxInFlight: 9 }],
    ['a policy that only audits', {}, { policy: { mode: 'Audit', ...unavailable('100%') } }],
    ['a policy without a budget for what keeps serving', {}, { policy: { operations: ['NoDisruption'] } }],
  ])('%s is none', async (_, base, change) => {
    expect((await compared(base, change)).loosened.share).toBe(0)
  })
})

test('the other budgets of a policy limit a number too, and one machine of a place is no share', async () => {
  const both = { budgets: [...unavailable(50).budgets, ...unavailable('10%').budgets] }
  expect((await compared({}, { policy: both })).loosened.share).toBe(0.1)
  expect((await compared({}, { policy: unavailable(1, { per: 'rack' }) })).loosened.share).toBe(0)
})

test('both sides are shown by number', async () => {
  const { base, change } = await compared({ maxInFlight: 2 }, { maxInFlight: 4 })
  expect([base.budget.share, change.budget.share]).toEqual([0.2, 0.4])
})
