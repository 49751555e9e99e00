// Limits the cost of reading a log: linear time alone is not enough when others write both the pattern and the lines.
import { regexProblem, type Regex } from '#lib/regex.ts'

/** Seven times the largest pattern shipped with node-problem-detector. */
export const MAX_LOG_PROGRAM = 1_000

/** A step is one instruction on one character and costs about 100 ns at worst: half a second if every limit is reached. */
const MAX_LINE_STEPS = 4_000_000

/** Why a pattern for log lines cannot be used; undefined if it can. */
export const logPatternProblem = (pattern: string): string | undefined =>
  regexProblem(pattern, { maxProgram: MAX_LOG_PROGRAM })

/** The remaining budget of all patterns together. */
export class Steps {
  #left: number

  constructor(left = MAX_LINE_STEPS) {
    this.#left = left
  }

  get left(): number {
    return this.#left
  }

  /** False: this exceeds the budget, so the pattern must not run on the text. */
  spend({ size }: Pick<Regex, 'size'>, text: string): boolean {
    const steps = size * text.length
    if (steps > this.#left) return false
    this.#left -= steps
    return true
  }
}
