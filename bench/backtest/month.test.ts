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
    digest: 'e978a2657a478b9ea30f732ca14cab7cc1457eb33064bfd719ec338590a77699',
  },
  {
    nodes: 600,
    transitions: 12_000,
    seeds: 0,
    jobs: [38, 38, 0, 2],
    digest: '31c209ea7010e4e4e4a826c2cead6e154c46c6214a8a1e2dc7604fc5e8e903ed',
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
