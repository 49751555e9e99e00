// What reading a log may cost: linear time alone is too much where others write the pattern and still others the lines.
import { regexProblem, type Regex } from '#lib/regex.ts'

/** Seven times the largest pattern that comes with node-problem-detector. */
export const MAX_LOG_PROGRAM = 1_000

/** A step is one instruction on one character and costs some 100 ns at worst: half a second, when every bound is reached. */
const MAX_LINE_STEPS = 4_000_000

/** Why a pattern for log lines cannot be used, or undefined when it can. */
export const logPatternProblem = (pattern: string): string | undefined =>
  regexProblem(pattern, { maxProgram: MAX_LOG_PROGRAM })

/** What all patterns together may still cost. */
export class Steps {
  #left: number

  constructor(left = MAX_LINE_STEPS) {
    this.#left = left
  }

  get left(): number {
    return this.#left
  }

  /** False: this is more than is left, so the pattern must not see the text. */
  spend({ size }: Pick<Regex, 'size'>, text: string): boolean {
    const steps = size * text.length
    if (steps > this.#left) return false
    this.#left -= steps
    return true
  }
}
