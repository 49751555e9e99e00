// Three-valued truth (Kleene's strong logic): unknown stays unknown through every connective, unless the other operands decide alone.

/** Strings, not booleans: an unknown verdict must never count as true just because it is truthy. */
export type Verdict = 'true' | 'false' | 'unknown'

export const verdictOf = (b: boolean): Verdict => (b ? 'true' : 'false')

export const negate = (v: Verdict): Verdict => (v === 'unknown' ? v : verdictOf(v === 'false'))

/** False if any is false; for none: true. */
export const conjunction = (verdicts: Iterable<Verdict>): Verdict => decided(verdicts, 'false', 'true')

/** True if any is true; for none: false. */
export const disjunction = (verdicts: Iterable<Verdict>): Verdict => decided(verdicts, 'true', 'false')

/** One decisive verdict is enough; otherwise a single unknown makes the result unknown. */
function decided(verdicts: Iterable<Verdict>, decisive: Verdict, otherwise: Verdict): Verdict {
  let whole = otherwise
  for (const v of verdicts) {
    if (v === decisive) return v
    if (v === 'unknown') whole = v
  }
  return whole
}
