// Operators over tallies: counts and ratios over peers. They decide only when the unknown peers could not change the result.
import { seenTally } from '../tally.ts'
import type { Tally } from '../tally.ts'
import { badValue, bound, wrongType } from './operator.ts'
import type { Misfit, Operator } from './operator.ts'
import { negate } from '../verdict.ts'
import type { Verdict } from '../verdict.ts'

/** Ratios are stored in millionths, so that 0.1 of 30 is exactly 3: both sides of a comparison stay integers. */
const MILLION = 1_000_000

/** Whether the count is certainly high enough, or certainly too low. `needed(total)` and the counts use the same unit. */
function reaches(tally: Tally, unit: number, needed: number): Verdict {
  if (tally.count * unit >= needed) return 'true'
  return (tally.count + tally.unknown) * unit < needed ? 'false' : 'unknown'
}

const parseCount = (value: unknown): number | Misfit => {
  if (typeof value !== 'number') return wrongType('a whole number', value)
  return Number.isSafeInteger(value) && value >= 0 && value <= MILLION
    ? value
    : badValue(`a count must be a whole number from 0 to ${MILLION}`)
}

/** 0.25 or "25%", in millionths. */
const parseRatio = (value: unknown): number | Misfit => {
  if (typeof value !== 'number' && typeof value !== 'string') return wrongType('a ratio such as 0.25 or "25%"', value)
  const ratio = typeof value === 'number' ? value : percent(value)
  return ratio !== undefined && ratio >= 0 && ratio <= 1
    ? Math.round(ratio * MILLION)
    : badValue('a ratio must be between 0 and 1; write one like 0.25 or "25%"')
}

const percent = (text: string): number | undefined =>
  /^\d{1,3}(\.\d{1,4})?%$/.test(text) ? Number(text.slice(0, -1)) / 100 : undefined

const judging = (
  name: string,
  doc: string,
  parse: (value: unknown) => number | Misfit,
  judge: (tally: Tally, wanted: number) => Verdict,
): Operator => ({
  name,
  doc,
  readAs: 'value',
  accepts: 'a tally of peers',
  fits: (shape) => shape.type === 'tally',
  bind: (value) => {
    const wanted = parse(value)
    if (typeof wanted !== 'number') return wanted
    return bound((seen) => {
      const tally = seenTally(seen)
      return tally === undefined ? 'unknown' : judge(tally, wanted)
    })
  },
})

const countAtLeast = (tally: Tally, n: number): Verdict => reaches(tally, 1, n)
const countAbove = (tally: Tally, n: number): Verdict => reaches(tally, 1, n + 1)

/** Without peers there is no ratio. */
const ratioAtLeast = (tally: Tally, millionths: number): Verdict =>
  tally.total === 0 ? 'unknown' : reaches(tally, MILLION, millionths * tally.total)
const ratioAbove = (tally: Tally, millionths: number): Verdict =>
  tally.total === 0 ? 'unknown' : reaches(tally, MILLION, millionths * tally.total + 1)

export const TALLY_OPERATORS: readonly Operator[] = [
  judging('countAtLeast', 'At least this many peers.', parseCount, countAtLeast),
  judging('countAtMost', 'At most this many peers.', parseCount, (t, n) => negate(countAbove(t, n))),
  judging('ratioAtLeast', 'At least this share of the peers.', parseRatio, ratioAtLeast),
  judging('ratioAtMost', 'At most this share of the peers.', parseRatio, (t, n) => negate(ratioAbove(t, n))),
  judging('ratioAbove', 'More than this share of the peers.', parseRatio, ratioAbove),
  judging('ratioBelow', 'Less than this share of the peers.', parseRatio, (t, n) => negate(ratioAtLeast(t, n))),
]
