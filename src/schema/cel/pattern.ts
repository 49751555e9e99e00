// Regular expressions of CEL: RE2, linear in the text whatever the pattern.
import { RE2JS } from 're2js'

/** Longer patterns are refused: a program of RE2 grows with its pattern. */
const MAX_PATTERN_LENGTH = 4096
/** States of the machine; with more, one match takes too long to be worth asking. */
const MAX_STATES = 50_000

export interface Pattern {
  readonly regex: RE2JS
  /** States of its machine: the most steps for one character of a text. */
  readonly size: number
}

/** Undefined when the text is no RE2 pattern. */
export function compilePattern(text: string): Pattern | undefined {
  if (text.length > MAX_PATTERN_LENGTH) return undefined
  try {
    const regex = RE2JS.compile(text)
    const size = regex.programSize()
    return size > MAX_STATES ? undefined : { regex, size }
  } catch {
    return undefined
  }
}

export const isPattern = (text: string): boolean => compilePattern(text) !== undefined
