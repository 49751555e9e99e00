// Literals that can be wrong before anything runs: patterns, durations and times are checked when the expression is compiled.
import type { Effort } from '#lib/effort.ts'
import type { Expr, Issue } from './syntax.ts'
import { isPattern } from './pattern.ts'
import { MAX_TIMESTAMP, MIN_TIMESTAMP, parseGoDuration, parseTimestamp } from './time.ts'

const CHECKS: Readonly<Record<string, (text: string, effort?: Effort) => boolean>> = {
  matches: isPattern,
  find: isPattern,
  findAll: isPattern,
  duration: (text) => parseGoDuration(text) !== undefined,
  timestamp: (text) => parseTimestamp(text) !== undefined,
}

export function formatLiteralIssue(
  name: string,
  e: Expr & { readonly op: 'call' },
  effort?: Effort,
): Issue | undefined {
  const isValid = Object.hasOwn(CHECKS, name) ? CHECKS[name] : undefined
  // matches(text, pattern) has the pattern second, text.matches(pattern) and duration(text) first.
  const arg = e.target === undefined && name === 'matches' ? e.args[1] : e.args[0]
  if (isValid === undefined || arg?.op !== 'const') return undefined
  if (name === 'timestamp' && typeof arg.value === 'bigint')
    return isYearOfCel(arg.value) ? undefined : { pos: arg.pos, message: 'invalid timestamp argument' }
  if (typeof arg.value !== 'string') return undefined
  return isValid(arg.value, effort) ? undefined : { pos: arg.pos, message: `invalid ${name} argument` }
}

const isYearOfCel = (seconds: bigint): boolean => {
  const nanos = seconds * 1_000_000_000n
  return nanos >= MIN_TIMESTAMP && nanos <= MAX_TIMESTAMP
}
