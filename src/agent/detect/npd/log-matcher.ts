// Pure in effect: keeps the last lines of a log and finds the rules that match at their end, as Go's regexp would. A rule whose literal is missing never
// runs its regular expression; a property test checks that the results are the same. The cost of one line is bounded: rules skip anything longer.
import { Steps } from '#api/agent-config/log-pattern.ts'
import { compileRegex, type Regex } from '#lib/regex.ts'
import { traitsOf } from './pattern-traits.ts'

export interface Match {
  readonly rule: number
  /** The lines that the match spans. */
  readonly message: string
}

interface Compiled {
  readonly regex: Regex
  readonly literal: string | undefined
  readonly isOneLine: boolean
  /** Lines since the last one with the literal; for patterns over several lines. */
  since: number
}

export interface MatcherOptions {
  /** False runs the regular expression on every line. For tests. */
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
      const traits = traitsOf(pattern)
      const literal = useLiterals ? traits.literal : undefined
      // A buffer of one line has no others, so that `^` is the beginning of the line.
      const isOneLine = traits.isOneLine || size === 1
      return { regex: compileRegex(`${pattern}\\z`), literal, isOneLine, since: size }
    })
    this.#isPlain = this.#rules.every((r) => r.isOneLine)
  }

  /** False: no rule can match any message within this text, so rules need not run on it. */
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
    const steps = new Steps()
    for (let n = 0; n < rules.length; n++) {
      const rule = rules[n]
      if (rule === undefined) continue
      const message = rule.isOneLine ? this.#ofLine(rule, line, steps) : this.#ofBuffer(rule, line, steps)
      if (message !== undefined) (found ??= []).push({ rule: n, message })
    }
    return found ?? NONE
  }

  #ofLine({ literal, regex }: Compiled, line: string, steps: Steps): string | undefined {
    if (literal !== undefined && !line.includes(literal)) return undefined
    return steps.spend(regex, line) && regex.test(line) ? line : undefined
  }

  #ofBuffer(rule: Compiled, line: string, steps: Steps): string | undefined {
    if (rule.literal !== undefined) {
      rule.since = line.includes(rule.literal) ? 0 : rule.since + 1
      if (rule.since >= this.#size) return undefined
    }
    const lines = this.#latest(steps.left / rule.regex.size)
    if (lines === undefined) return undefined
    const text = lines.join('\n')
    if (!steps.spend(rule.regex, text)) return undefined
    const match = rule.regex.match(text)
    if (match === undefined) return undefined
    // With alternatives, only the last one is anchored at the end: matches within older lines were found when those lines arrived.
    if (match.index + match.text.length < text.length - line.length) return undefined
    const first = text.slice(0, match.index).split('\n').length - 1
    return lines.slice(first).join('\n')
  }

  /** The buffer, with its oldest lines blanked to stay within the character limit; undefined when the newest line alone exceeds it. */
  #latest(chars: number): readonly string[] | undefined {
    const lines = [...this.#lines.slice(this.#at), ...this.#lines.slice(0, this.#at)]
    let left = chars - lines.length
    const kept = lines.findLastIndex((l) => (left -= l.length) < 0)
    if (kept === lines.length - 1) return undefined
    return lines.map((l, n) => (n > kept ? l : ''))
  }
}

const NONE: readonly Match[] = []
