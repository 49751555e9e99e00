// Pure in effect: the last lines of a log and which rules match at their end, as Go's regexp would say. Lines that a rule's literal shows to be
// harmless never reach the regular expression, which a property holds to change nothing.
import { compileRegex, type Regex } from '#lib/regex.ts'
import { lookAt } from './pattern-look.ts'

export interface Match {
  /** Index of the rule. */
  readonly rule: number
  /** The lines that the match touches. */
  readonly message: string
}

interface Compiled {
  readonly regex: Regex
  readonly literal: string | undefined
  readonly isOneLine: boolean
  /** Lines since one with the literal; for patterns over several lines. */
  since: number
}

export interface MatcherOptions {
  /** False asks the regular expression about every line. For tests. */
  readonly useLiterals?: boolean
}

export class LogMatcher {
  readonly #rules: readonly Compiled[]
  readonly #size: number
  readonly #lines: string[]
  readonly #isPlain: boolean
  #at = 0

  /** Patterns must compile. */
  constructor(patterns: readonly string[], size: number, { useLiterals = true }: MatcherOptions = {}) {
    this.#size = size
    this.#lines = Array<string>(size).fill('')
    this.#rules = patterns.map((pattern) => {
      const look = lookAt(pattern)
      const literal = useLiterals ? look.literal : undefined
      return { regex: compileRegex(`${pattern}\\z`), literal, isOneLine: look.isOneLine, since: size }
    })
    this.#isPlain = this.#rules.every((r) => r.isOneLine)
  }

  /** False: no rule can match a message that is a part of this text, and none needs to see it. */
  mayMatter(text: string): boolean {
    return !this.#isPlain || this.#rules.some((r) => r.literal === undefined || text.includes(r.literal))
  }

  /** Takes the next line; most lines match nothing. */
  push(line: string): readonly Match[] {
    if (!this.#isPlain) {
      this.#lines[this.#at] = line
      this.#at = (this.#at + 1) % this.#size
    }
    let found: Match[] | undefined
    const rules = this.#rules
    for (let n = 0; n < rules.length; n++) {
      const rule = rules[n]
      if (rule === undefined) continue
      const message = rule.isOneLine ? this.#ofLine(rule, line) : this.#ofBuffer(rule, line)
      if (message !== undefined) (found ??= []).push({ rule: n, message })
    }
    return found ?? NONE
  }

  #ofLine({ literal, regex }: Compiled, line: string): string | undefined {
    if (literal !== undefined && !line.includes(literal)) return undefined
    return regex.test(line) ? line : undefined
  }

  #ofBuffer(rule: Compiled, line: string): string | undefined {
    if (rule.literal !== undefined) {
      rule.since = line.includes(rule.literal) ? 0 : rule.since + 1
      if (rule.since >= this.#size) return undefined
    }
    const lines = [...this.#lines.slice(this.#at), ...this.#lines.slice(0, this.#at)]
    const text = lines.join('\n')
    const match = rule.regex.match(text)
    if (match === undefined) return undefined
    // With alternatives only the last is bound to the end: what lies in older lines was seen when they came.
    if (match.index + match.text.length < text.length - line.length) return undefined
    const first = text.slice(0, match.index).split('\n').length - 1
    return lines.slice(first).join('\n')
  }
}

const NONE: readonly Match[] = []
