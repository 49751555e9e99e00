// Computes the rows between two states of one object. Pure.

/** Facts of an object, sorted by topic: the numbers of topic and value and the source's time of each. Compact, for tens of thousands of objects. */
export type Packed = Float64Array

/** The source has no time. */
export const NOT_REPORTED = -1

export interface Transition {
  readonly topic: number
  /** Undefined if the fact ended. */
  readonly value: number | undefined
  readonly reported: number
}

export const NO_FACTS: Packed = new Float64Array(0)

export interface NumberedFact {
  readonly topic: number
  readonly value: number
  readonly reported: number
}

export function packed(facts: readonly NumberedFact[]): Packed {
  const out = new Float64Array(3 * facts.length)
  facts
    .toSorted((a, b) => a.topic - b.topic)
    .forEach(({ topic, value, reported }, n) => out.set([topic, value, reported], 3 * n))
  return out
}

export function unpacked(facts: Packed): readonly NumberedFact[] {
  const out: NumberedFact[] = []
  for (let n = 0; n < facts.length; n += 3)
    out.push({ topic: facts[n] ?? 0, value: facts[n + 1] ?? 0, reported: facts[n + 2] ?? 0 })
  return out
}

/** In the order of topics. A fact with the same value but another source time also changed: it ended and returned between two observations. */
export function transitions(before: Packed, after: Packed): readonly Transition[] {
  const out: Transition[] = []
  let [b, a] = [0, 0]
  while (b < before.length || a < after.length) {
    const old = before[b] ?? Infinity
    const now = after[a] ?? Infinity
    if (old < now) {
      out.push({ topic: old, value: undefined, reported: NOT_REPORTED })
      b += 3
      continue
    }
    const value = after[a + 1] ?? 0
    const reported = after[a + 2] ?? NOT_REPORTED
    if (now < old || before[b + 1] !== value || before[b + 2] !== reported) out.push({ topic: now, value, reported })
    if (old === now) b += 3
    a += 3
  }
  return out
}
