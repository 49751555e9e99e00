// The only entry to untrusted regular expressions: RE2 syntax, linear time in the input, Go's error messages.
import { RE2JS, RE2JSException } from 're2js'
import type { Effort } from './effort.ts'
import { KubeNodeError } from './errors.ts'
import { libErrors } from './lib-errors.ts'
import { expandedSize } from './pattern-size.ts'

/** Far above any hand-written pattern; compiling stays in the low milliseconds. */
export const MAX_PATTERN_LENGTH = 16_384

/** Limit of compiled instructions: fits the longest plain pattern, so that only multiplied repetitions exceed it. */
export const MAX_PROGRAM = 20_000

export interface Regex {
  readonly pattern: string
  /** Number of states: the maximum steps per character of text. */
  readonly size: number
  /** True if any part of the text matches. Pass an effort for untrusted text: a match can take the text's length times `size`. Throws EffortSpent. */
  test(text: string, effort?: Effort): boolean
  /** True if the whole text matches. */
  testWhole(text: string): boolean
  /** The first match with its groups by number and by name; undefined if there is none. */
  match(text: string): RegexMatch | undefined
}

interface RegexMatch {
  readonly index: number
  readonly text: string
  /** Group n is at n - 1; undefined if it did not participate. */
  readonly groups: readonly (string | undefined)[]
  readonly named: ReadonlyMap<string, string | undefined>
}

/** A pattern that RE2 refuses; `reason` is the message of Go's regexp package. */
export class RegexError extends KubeNodeError {
  readonly reason: string

  constructor(pattern: string, reason: string) {
    super(libErrors.KN1030({ pattern: JSON.stringify(shorten(pattern)), reason }))
    this.reason = reason
  }
}

const shorten = (pattern: string): string => (pattern.length <= 120 ? pattern : `${pattern.slice(0, 120)}…`)

/** Names and durations: the same few patterns appear in hundreds of places of a schema, and compiling one takes as long as a thousand matches. */
const SHARED_LENGTH = 256
const SHARED_PATTERNS = 512

/** Expressions still referenced, or referenced until the last garbage collection. A Regex has no state, so sharing is invisible. */
const shared = new Map<string, WeakRef<Regex>>()

interface CompileOptions {
  readonly maxLength?: number
  /** Pays for compiling a new pattern. */
  readonly effort?: Effort | undefined
}

/** Throws RegexError, and EffortSpent. */
export function compileRegex(pattern: string, options: CompileOptions = {}): Regex {
  const isShared = pattern.length <= Math.min(SHARED_LENGTH, options.maxLength ?? SHARED_LENGTH)
  const kept = isShared ? shared.get(pattern)?.deref() : undefined
  if (kept !== undefined) return kept
  const regex = fresh(pattern, options)
  if (isShared) {
    if (shared.size >= SHARED_PATTERNS) shared.clear()
    shared.set(pattern, new WeakRef(regex))
  }
  return regex
}

function fresh(pattern: string, { maxLength = MAX_PATTERN_LENGTH, effort }: CompileOptions = {}): Regex {
  if (pattern.length > maxLength)
    throw new RegexError(pattern, `error parsing regexp: pattern of ${pattern.length} characters is over ${maxLength}`)
  const re = compileWithin(pattern, MAX_PROGRAM, effort)
  const size = re.programSize()
  const meter = meterOf(re)
  return {
    pattern,
    size,
    test: (text, effort) => (effort === undefined ? re.test(text) : meter(effort, text.length, () => re.test(text))),
    testWhole: (text) => re.testExact(text),
    match: (text) => firstMatch(re, text),
  }
}

/** By how much a pattern's estimated size may exceed the real one. */
const GUESS = 2
/** Effort per instruction: compiling one takes a microsecond. */
const COMPILE_STEPS = 20

/** Throws RegexError, and EffortSpent. A 16 KB pattern can compile to a million instructions, so check its size first. */
export function compileWithin(pattern: string, most: number, effort?: Effort): RE2JS {
  const guess = expandedSize(pattern)
  if (guess > GUESS * most) throw new RegexError(pattern, tooLarge(guess, most))
  effort?.spend(COMPILE_STEPS * Math.min(guess, most))
  const re = compiled(pattern)
  const size = re.programSize()
  if (size > most) throw new RegexError(pattern, tooLarge(size, most))
  return re
}

/** Effort per visited instruction. */
const VISIT_STEPS = 3
/** The fallback matcher visits instructions four times as fast as the others. */
const FALLBACK_VISITS = 4
/** Characters per effort step in a table of states; matching character by character takes a step each. */
const SCANNED = 4

/**
 * A match's cost is only known while it runs: the same pattern may read one text in a table and need all its states for the next. So visited instructions are
 * counted where the library looks them up. Its last matcher has no such lookup and is paid for in full before it starts.
 */
export function meterOf({ re2Input }: RE2JS): <T>(effort: Effort, characters: number, work: () => T) => T {
  const { prog } = re2Input
  const instructions: readonly unknown[] = prog.inst
  let paying: Effort | undefined
  prog.getInst = (pc: number) => {
    paying?.spend(VISIT_STEPS)
    return instructions[pc]
  }
  const lastResort = re2Input.doExecuteNFA.bind(re2Input)
  re2Input.doExecuteNFA = (input: { endPos(): number }, pos: number, ...rest: readonly [unknown, unknown, unknown]) => {
    paying?.spend(Math.ceil((instructions.length * (input.endPos() - pos)) / FALLBACK_VISITS))
    return lastResort(input, pos, ...rest)
  }
  const scanned = re2Input.onepass === null ? SCANNED : 1
  return (effort, characters, work) => {
    effort.spend(Math.ceil(characters / scanned))
    paying = effort
    try {
      return work()
    } finally {
      paying = undefined
    }
  }
}

function compiled(pattern: string): RE2JS {
  try {
    return RE2JS.compile(pattern)
  } catch (e) {
    if (e instanceof RE2JSException) throw new RegexError(pattern, e.message)
    throw e
  }
}

function firstMatch(re: RE2JS, text: string): RegexMatch | undefined {
  const m = re.matcher(text)
  if (!m.find()) return undefined
  const groups = Array.from({ length: m.groupCount() }, (_, i) => m.group(i + 1) ?? undefined)
  const named = new Map(Object.entries(re.namedGroups()).map(([name, n]) => [name, groups[n - 1]]))
  return { index: m.start(), text: m.group() ?? '', groups, named }
}

const tooLarge = (size: number, max: number): string =>
  `error parsing regexp: expanded it has ${size} steps, over ${max}; use smaller repetitions`

/** Why a pattern cannot be used; undefined if it can. */
export function regexProblem(
  pattern: string,
  { maxProgram = MAX_PROGRAM, effort }: { readonly maxProgram?: number; readonly effort?: Effort } = {},
): string | undefined {
  try {
    const { size } = compileRegex(pattern, { effort })
    return size > maxProgram ? tooLarge(size, maxProgram) : undefined
  } catch (e) {
    if (e instanceof RegexError) return e.reason
    throw e
  }
}

export interface RegexCache {
  /** Throws RegexError. */
  get(pattern: string): Regex
}

/** Cached patterns: enough for every rule and schema of a process, and strangers cannot grow it. */
const DEFAULT_CACHE_SIZE = 512

/** A cache owned by the caller; the least recently used pattern is evicted first. */
export function createRegexCache(size = DEFAULT_CACHE_SIZE): RegexCache {
  const kept = new Map<string, Regex>()
  return {
    get(pattern) {
      const regex = kept.get(pattern) ?? fresh(pattern)
      kept.delete(pattern)
      kept.set(pattern, regex)
      const oldest = kept.keys().next()
      if (kept.size > size && oldest.done !== true) kept.delete(oldest.value)
      return regex
    },
  }
}
