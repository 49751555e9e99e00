// Three-valued truth (Kleene's strong logic): a thing not known stays not known through every connective, unless the rest decides alone.

/** Strings, not booleans: an unknown must never pass for true by being truthy. */
export type Verdict = 'true' | 'false' | 'unknown'

export const verdictOf = (b: boolean): Verdict => (b ? 'true' : 'false')

export const negate = (v: Verdict): Verdict => (v === 'unknown' ? v : verdictOf(v === 'false'))

/** False as soon as one is false; of nothing: true. */
export function conjunction(verdicts: Iterable<Verdict>): Verdict {
  let all: Verdict = 'true'
  for (const v of verdicts) {
    if (v === 'false') return v
    if (v === 'unknown') all = v
  }
  return all
}

/** True as soon as one is true; of nothing: false. */
export function disjunction(verdicts: Iterable<Verdict>): Verdict {
  let any: Verdict = 'false'
  for (const v of verdicts) {
    if (v === 'true') return v
    if (v === 'unknown') any = v
  }
  return any
}
