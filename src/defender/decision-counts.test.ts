import { expect, test } from 'vitest'
import { aPermit, aPolicy, aSnapshot, machines, START_MS } from '#test/support/fleets/defender-objects.ts'
import { DecisionCounts } from './decision-counts.ts'
import { decide } from './plan.ts'

const NARROW = aPolicy({ budgets: [{ max: 1, of: 'concurrent', per: 'cluster' }] }, 'narrow')
const WIDE = aPolicy({ budgets: [{ max: 5, of: 'concurrent', per: 'cluster' }], mode: 'Audit' }, 'wide')
const NOBODY = aPolicy({ protect: [{ selector: {} }], mode: 'Audit' }, 'nobody')
const permits = ['a', 'b', 'c'].map((name, i) => aPermit({ name, targets: [`m-${i}`] }))
const asked = (policies: readonly (typeof NARROW)[]) =>
  decide(aSnapshot({ machines: machines(100), permits, policies }), undefined, { now: START_MS, leader: 'a' })

test('a policy that only watches changes nothing and says what it would have decided', () => {
  const alone = asked([NARROW])
  const watched = asked([NARROW, WIDE, NOBODY])
  expect(watched.permits.map((p) => p.targets.map((t) => t.verdict))).toEqual(
    alone.permits.map((p) => p.targets.map((t) => t.verdict)),
  )
  const counts = new DecisionCounts()
  counts.observe(watched.permits, START_MS)
  expect(counts.of('narrow', START_MS)).toEqual({ granted: 1, waiting: 2, denied: 0 })
  expect(counts.of('wide', START_MS)).toEqual({ granted: 3, waiting: 0, denied: 0 })
  expect(counts.of('nobody', START_MS)).toEqual({ granted: 0, waiting: 0, denied: 3 })
})

test('a verdict counts once however often it is looked at, and for an hour', () => {
  const { permits: decided } = asked([NARROW])
  const counts = new DecisionCounts()
  for (let minute = 0; minute < 30; minute++) counts.observe(decided, START_MS + minute * 60_000)
  expect(counts.of('narrow', START_MS + 30 * 60_000)).toEqual({ granted: 1, waiting: 2, denied: 0 })
  expect(counts.of('narrow', START_MS + 61 * 60_000)).toEqual({ granted: 0, waiting: 0, denied: 0 })
})

test('rates of a policy that only watches are counted, so that it can tell what they would have done', () => {
  const RATE = aPolicy({ rates: [{ window: '1h', max: 1, per: 'cluster' }], mode: 'Audit' }, 'rate')
  const counts = new DecisionCounts()
  counts.observe(asked([WIDE, RATE, aPolicy({}, 'open')]).permits, START_MS)
  expect(counts.of('rate', START_MS)).toEqual({ granted: 1, waiting: 2, denied: 0 })
})
