// What a replay says about a generated month stays the same to the byte, however the replay is made faster. The counts tell which part moved.
import { expect, test } from 'vitest'
import { policyOf } from '#test/support/worlds/past-lines.ts'
import { Backtest } from '#forecast/backtest/backtest.ts'
import { canonicalJson } from '#lib/json.ts'
import { sha256 } from '#lib/sha256.ts'
import { BEGINS, MONTH_MS, month, rulesOf } from './month.ts'

const RULES = 20

test.each([
  {
    nodes: 120,
    transitions: 20_000,
    seeds: 2,
    jobs: [64, 62, 2, 4],
    digest: 'cbf92998eff85e73b041c937a2a66b753b1b35755a14e365d22f533e4860fced',
  },
  {
    nodes: 600,
    transitions: 12_000,
    seeds: 0,
    jobs: [38, 38, 0, 2],
    digest: 'b31b53755f24452697e7613101dec417f9e98c3bbfcecb12c66cdbd841ffd2dc',
  },
])('$nodes nodes, $transitions transitions, $seeds seeds', async ({ nodes, transitions, seeds, jobs, digest }) => {
  const policies = [policyOf('budget', { budgets: [{ max: '1%', of: 'unavailable' }] })]
  const backtest = new Backtest({
    cluster: 'bench',
    base: { rules: rulesOf(RULES, '1m'), policies: [] },
    change: { rules: rulesOf(RULES, '10m'), policies },
    seeds,
  })
  for (const line of month(nodes, transitions, RULES)) await backtest.take(line)
  const result = await backtest.end(BEGINS + MONTH_MS)
  expect({
    jobs: [result.base.total.jobs, result.change.total.jobs, result.total.removed, result.total.later],
    digest: sha256(canonicalJson(result)).toString('hex'),
  }).toEqual({ jobs, digest })
})
