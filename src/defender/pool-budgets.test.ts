import { expect, test } from 'vitest'
import { silentLogger } from '#lib/log.ts'
import { keptText, NOTHING_KEPT, SERVICE_LEVELS_KEY, withMeasured } from '#measure/kept-days.ts'
import { NO_SECONDS, plus } from '#measure/service-level.ts'
import { aPolicy, aSnapshot } from '#test/support/fleets/defender-objects.ts'
import { VirtualClock } from '#test/support/clocks/virtual-clock.ts'
import { budgetSpent } from '../../rules/defender/budget-spent.ts'
import { MOST_AGE_MS, PoolBudgetsWatch } from './pool-budgets.ts'
import { asksPool, poolVerdicts } from './rule-verdicts.ts'

const START = Date.parse('2026-11-28T12:00:00Z')
const MONTH = 30 * 86_400
/** `web` has spent a quarter of what one node may be away in a month, `batch` twice as much as it may. */
const kept = withMeasured(
  NOTHING_KEPT,
  new Map([
    ['web', plus(NO_SECONDS, { good: 1, fault: (MONTH / 1_000) * 0.25 })],
    ['batch', plus(NO_SECONDS, { good: 1, silent: (MONTH / 1_000) * 2 })],
    ['left', plus(NO_SECONDS, { good: 1 })],
  ]),
  new Map([
    ['web', 1],
    ['batch', 1],
  ]),
  START,
)

function watch(answer: () => Promise<unknown>) {
  const clock = new VirtualClock(START)
  let reads = 0
  const client = {
    get: () => {
      reads++
      return answer()
    },
  } as never
  return { of: new PoolBudgetsWatch({ client, clock, log: silentLogger }), clock, reads: () => reads }
}
const map = (text: string) => () => Promise.resolve({ data: { [SERVICE_LEVELS_KEY]: text } })
const rounded = (budgets: ReadonlyMap<string, number>) => [...budgets].map(([pool, n]) => [pool, Math.round(n * 100)])

test('what is left is known of pools with nodes, and read once a minute', async () => {
  const { of, clock, reads } = watch(map(keptText(kept)))
  expect(rounded(await of.now())).toEqual([
    ['web', 75],
    ['batch', -100],
  ])
  await of.now()
  expect(reads()).toBe(1)
  await clock.advance(60_000)
  await of.now()
  expect(reads()).toBe(2)
})

test('days that nobody has written for half an hour say nothing of now', async () => {
  const { of, clock } = watch(map(keptText(kept)))
  await clock.advance(MOST_AGE_MS + 1)
  expect((await of.now()).size).toBe(0)
})

test.each([
  ['a server that does not answer', () => Promise.reject(new Error('timeout'))],
  ['no ConfigMap', () => Promise.resolve(undefined)],
  ['a text of another release', map('{"format":9}')],
])('with %s every budget is unknown', async (_, answer) => {
  expect((await watch(answer).of.now()).size).toBe(0)
})

test('the shipped policy is switched off, and true of exactly the pools whose budget is spent', async () => {
  expect(budgetSpent.mode).toBe('Audit')
  const policy = aPolicy(budgetSpent as Parameters<typeof aPolicy>[0])
  expect(asksPool(policy)).toBe(true)
  expect(asksPool(aPolicy({ healthFloor: 1 }))).toBe(false)
  const budgets = new Map([
    ['web', 0.75],
    ['batch', -1],
    ['just', 0],
  ])
  const verdicts = await poolVerdicts([policy], budgets, aSnapshot().fleet, 0, START)
  expect([...verdicts].map(([pool, of]) => [pool, of.get(policy.name)?.get('pool-budget-spent')])).toEqual([
    ['web', 'false'],
    ['batch', 'true'],
    ['just', 'true'],
  ])
})
