// A problem of an object: one entry per mistake, with its place, the value found, and what would be right.
import type { ErrorCode } from '#lib/errors.ts'

export interface Problem {
  readonly code: ErrorCode
  /** JSON pointer into the object, starting with a slash; empty for the object itself. */
  readonly pointer: string
  /** The offending value as short text; left out if there was none. */
  readonly seen?: string
  /** What would be right. */
  readonly allowed?: string
  /** Without the pointer and the value: "is not allowed here", "must be …". */
  readonly message: string
  /** The likely intended word. */
  readonly suggestion?: string
}

/** The number of each kind of mistake. */
export const PROBLEM_CODES = {
  unknownField: 'KN5001',
  missing: 'KN5002',
  wrongType: 'KN5003',
  bound: 'KN5003',
  form: 'KN5003',
  duplicate: 'KN5003',
  rule: 'KN5007',
  immutable: 'KN5008',
  notThisKind: 'KN5009',
  unserved: 'KN5012',
} as const satisfies Readonly<Record<string, ErrorCode>>

/** Longer values are cut: people read these messages. */
const MAX_SEEN_CHARS = 80

export function shown(value: unknown): string {
  if (Array.isArray(value)) return `a list of ${value.length}`
  if (typeof value === 'object' && value !== null) return `an object with ${Object.keys(value).length} fields`
  const text = JSON.stringify(value) ?? String(value)
  return text.length <= MAX_SEEN_CHARS ? text : `${text.slice(0, MAX_SEEN_CHARS - 1)}…`
}

/** One line: place, problem, value found, and what to write instead. */
export function formatProblem({ code, pointer, message, seen, allowed, suggestion }: Problem): string {
  const place = pointer === '' ? 'the object' : pointer
  const parts = [`${code}: ${place}: ${message}`]
  if (seen !== undefined) parts.push(`got ${seen}`)
  if (allowed !== undefined) parts.push(`allowed: ${allowed}`)
  if (suggestion !== undefined) parts.push(`did you mean ${suggestion}?`)
  return parts.join('; ')
}

export const pointerTo = (pointer: string, ...keys: readonly (string | number)[]): string =>
  keys.reduce<string>((p, k) => `${p}/${typeof k === 'number' ? k : escaped(k)}`, pointer)

/** Few names need escaping, but this runs for every field of every object. */
const escaped = (key: string): string =>
  key.includes('~') || key.includes('/') ? key.replaceAll('~', '~0').replaceAll('/', '~1') : key
