// Three-valued truth (Kleene's strong logic): a thing not known stays not known through every connective, unless the rest decides alone.

/** Strings, not booleans: an unknown must never pass for true by being truthy. */
export type Verdict = 'true' | 'false' | 'unknown'

export const verdictOf = (b: boolean): Verdict => (b ? 'true' : 'false')

export const negate = (v: Verdict): Verdict => (v === 'unknown' ? v : verdictOf(v === 'false'))

/** False as soon as one is false; of nothing: true. */
export const conjunction = (verdicts: Iterable<Verdict>): Verdict => decided(verdicts, 'false', 'true')

/** True as soon as one is true; of nothing: false. */
export const disjunction = (verdicts: Iterable<Verdict>): Verdict => decided(verdicts, 'true', 'false')

/** One decisive verdict decides alone; without it, one unknown leaves the whole unknown. */
function decided(verdicts: Iterable<Verdict>, decisive: Verdict, otherwise: Verdict): Verdict {
  let whole = otherwise
  for (const v of verdicts) {
    if (v === decisive) return v
    if (v === 'unknown') whole = v
  }
  return whole
}
