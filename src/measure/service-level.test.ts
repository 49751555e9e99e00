import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import { dayOf, keptIn, type KeptDays, keptText, NOTHING_KEPT, sumOfDays, withMeasured } from './kept-days.ts'
import { NODE_STATES } from './node-state.ts'
import { budgetOf, burnRate, NO_SECONDS, plus, serviceLevel } from './service-level.ts'
import { TimeInState } from './time-in-state.ts'

const DAY = 86_400

describe('a service level', () => {
  test.each([
    ['nothing measured', {}, undefined],
    ['all good', { good: 100 }, 1],
    ['a fault', { good: 99, fault: 1 }, 0.99],
    ['silence counts as a fault', { good: 99, silent: 1 }, 0.99],
    ['planned and pending time counts for neither', { good: 99, fault: 1, planned: 500, pending: 900 }, 0.99],
  ])('%s', (_, seconds, level) => {
    expect(serviceLevel(plus(NO_SECONDS, seconds))).toBe(level)
  })

  test('a burn of 1 spends exactly the budget of the window', () => {
    expect(burnRate(plus(NO_SECONDS, { good: 999, fault: 1 }))).toBeCloseTo(1)
    expect(burnRate(plus(NO_SECONDS, { good: 856, fault: 144 }))).toBeCloseTo(144)
    expect(burnRate(NO_SECONDS)).toBeUndefined()
  })

  test('a node has 43.2 minutes in 30 days', () => {
    const budget = budgetOf(NO_SECONDS, 1, 30)
    expect(budget?.allowed).toBeCloseTo(43.2 * 60)
    expect(budget?.left).toBe(1)
    expect(budgetOf(plus(NO_SECONDS, { fault: 43.2 * 60 }), 1, 30)?.left).toBeCloseTo(0)
    expect(budgetOf(plus(NO_SECONDS, { silent: 2 * 43.2 * 60 }), 1, 30)?.left).toBeCloseTo(-1)
    // The budget of a pool without nodes is unknown.
    expect(budgetOf(NO_SECONDS, 0, 30)).toBeUndefined()
  })
})

describe('time in states', () => {
  test('is exact from transitions, and a change to the same state is none', () => {
    const time = new TimeInState()
    time.enter('a', { state: 'good' }, 0)
    time.enter('a', { state: 'good' }, 500)
    time.enter('a', { state: 'fault' }, 1_000)
    time.enter('b', { state: 'good' }, 1_000)
    time.leave('b', 3_000)
    time.leave('never', 3_000)
    expect(time.totals(4_000)).toEqual([
      { labels: { state: 'good' }, seconds: 3 },
      { labels: { state: 'fault' }, seconds: 3 },
    ])
  })

  test('every second is counted once, whenever the sums are read', () => {
    const step = fc.record({
      thing: fc.integer({ min: 0, max: 4 }),
      state: fc.constantFrom(...NODE_STATES, 'gone'),
      after: fc.integer({ min: 0, max: 1_000 }),
      isAsked: fc.boolean(),
    })
    fc.assert(
      fc.property(fc.array(step, { maxLength: 60 }), (steps) => {
        const time = new TimeInState(3)
        const alive = new Set<number>()
        let [now, expected] = [0, 0]
        for (const { thing, state, after, isAsked } of steps) {
          expected += alive.size * after
          now += after
          if (isAsked) time.totals(now)
          if (state === 'gone') {
            time.leave(String(thing), now)
            alive.delete(thing)
          } else {
            time.enter(String(thing), { state }, now)
            alive.add(thing)
          }
        }
        const sums = time.totals(now)
        expect(Math.round(sums.reduce((all, s) => all + s.seconds * 1_000, 0))).toBe(expected)
        // Three, and the one for all others.
        expect(sums.length).toBeLessThanOrEqual(4)
      }),
    )
  })
})

describe('kept days', () => {
  const noon = Date.parse('2026-11-28T12:00:00Z')
  const measured = new Map([['web', plus(NO_SECONDS, { good: 60, fault: 2 })]])
  const nodes = new Map([['web', 3]])

  test('a month is kept, day by day, and a text says the same again', () => {
    let kept: KeptDays = NOTHING_KEPT
    for (let day = 0; day < 40; day++)
      for (let time = 0; time < 3; time++) kept = withMeasured(kept, measured, nodes, noon + day * DAY * 1_000)
    expect(kept.days).toHaveLength(31)
    expect(kept.days[0]?.day).toBe('2026-12-07')
    expect(kept.days.at(-1)?.pools.get('web')).toMatchObject({ good: 180, fault: 6 })
    expect(sumOfDays(kept).get('web')).toMatchObject({ good: 31 * 180 })
    expect(sumOfDays(kept, dayOf(noon + 39 * DAY * 1_000)).get('web')).toMatchObject({ good: 180 })
    expect(keptIn(keptText(kept))).toEqual(kept)
  })

  test('what another release wrote is unknown', () => {
    expect(keptIn('{"format":2,"days":[]}')).toBeUndefined()
    expect(keptIn('nonsense')).toBeUndefined()
  })

  test('a thousand pools are two hundred and one', () => {
    const many = new Map(Array.from({ length: 1_000 }, (_, i) => [`p${i}`, plus(NO_SECONDS, { good: 1 })]))
    const pools = withMeasured(NOTHING_KEPT, many, nodes, noon).days[0]?.pools
    expect(pools?.size).toBe(201)
    expect(pools?.get('other')).toMatchObject({ good: 800 })
  })
})
