// Operators over text. Regexes are RE2: linear time in the text, whatever the pattern.
import { compileRegex, regexProblem } from '#lib/regex.ts'
import { MAX_REGEX_CHARS, MAX_REGEX_PROGRAM, MAX_REGEX_SEEN_CHARS, MAX_SEEN_CHARS } from '../limits.ts'
import { verdictOf } from '../verdict.ts'
import type { Verdict } from '../verdict.ts'
import { badValue, bound, scalarMisfit, wrongType } from './operator.ts'
import type { Operator } from './operator.ts'
import type { Shape } from '../vocabulary.ts'

const ON_TEXT = {
  readAs: 'value',
  accepts: 'a string',
  fits: ({ type }: Shape) => type === 'string' || type === 'version',
} as const

const onText =
  (holds: (text: string) => boolean, longest = MAX_SEEN_CHARS) =>
  (seen: unknown): Verdict =>
    typeof seen === 'string' && seen.length <= longest ? verdictOf(holds(seen)) : 'unknown'

const comparing = (name: string, doc: string, holds: (text: string, wanted: string) => boolean): Operator => ({
  name,
  doc,
  ...ON_TEXT,
  bind: (value) => {
    if (typeof value !== 'string') return wrongType('a string', value)
    if (value === '') return badValue('the text is empty, so everything would match')
    return scalarMisfit(value, { type: 'string' }) ?? bound(onText((text) => holds(text, value)))
  },
})

const matches: Operator = {
  name: 'matches',
  doc: 'The regex (RE2 syntax) is found in the text; ^ and $ anchor it.',
  ...ON_TEXT,
  bind: (value) => {
    if (typeof value !== 'string') return wrongType('a regex as a string', value)
    if (value.length > MAX_REGEX_CHARS) return badValue(`the regex is longer than ${MAX_REGEX_CHARS} characters`)
    const problem = regexProblem(value)
    if (problem !== undefined) return badValue(`not an RE2 regex: ${problem}`)
    const regex = compileRegex(value)
    if (regex.size > MAX_REGEX_PROGRAM)
      return badValue('the regex is too large when expanded; use smaller repetitions or several leaves')
    return bound(
      onText((text) => regex.test(text), MAX_REGEX_SEEN_CHARS),
      { cost: regex.size },
    )
  },
}

export const TEXT_OPERATORS: readonly Operator[] = [
  comparing('startsWith', 'The text starts with this.', (text, wanted) => text.startsWith(wanted)),
  comparing('endsWith', 'The text ends with this.', (text, wanted) => text.endsWith(wanted)),
  comparing('includes', 'The text contains this.', (text, wanted) => text.includes(wanted)),
  matches,
]
