import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { OPERATORS } from './operators/decorated.ts'
import { seenTally, tallyOf } from './tally.ts'
import { verdictOf } from './verdict.ts'
import type { Verdict } from './verdict.ts'

const verdicts = fc.array(fc.constantFrom<Verdict>('true', 'false', 'unknown'), { maxLength: 40 })
const percent = fc.integer({ min: 0, max: 100 })

const exact = {
  ratioAtLeast: (n: number, total: number, p: number) => n * 100 >= p * total,
  ratioAbove: (n: number, total: number, p: number) => n * 100 > p * total,
  ratioAtMost: (n: number, total: number, p: number) => n * 100 <= p * total,
  ratioBelow: (n: number, total: number, p: number) => n * 100 < p * total,
}

describe('a ratio over peers', () => {
  it.each(Object.entries(exact))(
    '%s is decided exactly when every way the unknown peers may turn out agrees',
    (name, holds) => {
      fc.assert(
        fc.property(verdicts, percent, (peers, p) => {
          const tally = tallyOf(peers, (v) => v)
          const result = OPERATORS.get(name)?.bind(p / 100, { type: 'tally' })
          const verdict = result?.kind === 'bound' ? result.test(tally) : 'misfit'
          const outcomes = new Set(
            Array.from({ length: tally.unknown + 1 }, (_, k) => holds(tally.count + k, tally.total, p)),
          )
          const expected = tally.total === 0 || outcomes.size > 1 ? 'unknown' : verdictOf(outcomes.has(true))
          expect(verdict).toBe(expected)
        }),
      )
    },
  )
})

describe('a tally that was seen', () => {
  const cases: readonly (readonly [string, unknown, boolean])[] = [
    ['whole', { count: 1, total: 3, unknown: 2 }, true],
    ['without unknown', { count: 1, total: 3 }, true],
    ['more than all', { count: 2, total: 3, unknown: 2 }, false],
    ['negative', { count: -1, total: 3 }, false],
    ['broken', { count: 0.5, total: 3 }, false],
    ['inherited', Object.create({ count: 1, total: 3 }), false],
    ['a list', [1, 3], false],
    ['nothing', undefined, false],
  ]
  it.each(cases)('%s', (_name, seen, counts) => expect(seenTally(seen) !== undefined).toBe(counts))
})
