// A cache between the evaluations of a program: patterns and time zones. Bounded; the oldest entries are dropped.
import type { Effort } from '#lib/effort.ts'
import { compilePattern, type Pattern } from './pattern.ts'

/** More than the literals of an expression; computed values may evict them. */
const MAX_KEPT = 64

export class Memo {
  readonly #patterns = new Map<string, Pattern | undefined>()
  readonly #zones = new Map<string, Intl.DateTimeFormat>()

  pattern(text: string, effort: Effort): Pattern | undefined {
    if (this.#patterns.has(text)) return this.#patterns.get(text)
    return keep(this.#patterns, text, compilePattern(text, effort))
  }

  /** Throws RangeError for an unknown zone. */
  zone(name: string): Intl.DateTimeFormat {
    const kept = this.#zones.get(name)
    return kept ?? keep(this.#zones, name, new Intl.DateTimeFormat('en-US', { ...FIELDS, timeZone: name }))
  }
}

const FIELDS = {
  year: 'numeric',
  month: 'numeric',
  day: 'numeric',
  hour: 'numeric',
  minute: 'numeric',
  second: 'numeric',
  hourCycle: 'h23',
} as const

function keep<T>(kept: Map<string, T>, key: string, value: T): T {
  if (kept.size >= MAX_KEPT) kept.delete(kept.keys().next().value ?? '')
  kept.set(key, value)
  return value
}
