// Regular expressions of CEL: RE2, linear in the text whatever the pattern.
import type { RE2JS } from 're2js'
import type { Effort } from '#lib/effort.ts'
import { compileWithin, meterOf, RegexError } from '#lib/regex.ts'

/** Longer patterns are refused: a program of RE2 grows with its pattern. */
const MAX_PATTERN_LENGTH = 4096
/** States of the machine; with more, one match takes too long to be worth asking. */
const MAX_STATES = 50_000

export interface Pattern {
  readonly regex: RE2JS
  /** States of its machine: the most steps for one character of a text. */
  readonly size: number
  /** Runs a match of so many characters at the expense of an effort. */
  readonly meter: ReturnType<typeof meterOf>
}

/** Undefined when the text is no RE2 pattern. Throws EffortSpent. */
export function compilePattern(text: string, effort?: Effort): Pattern | undefined {
  if (text.length > MAX_PATTERN_LENGTH) return undefined
  try {
    const regex = compileWithin(text, MAX_STATES, effort)
    return { regex, size: regex.programSize(), meter: meterOf(regex) }
  } catch (e) {
    if (e instanceof RegexError) return undefined
    throw e
  }
}

export const isPattern = (text: string, effort?: Effort): boolean => compilePattern(text, effort) !== undefined
