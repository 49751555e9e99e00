// Evaluates a set of rules against one set of facts at one time. A rule fires only when it is certainly true; an unknown rule never fires.
import { KubeNodeError } from '#lib/errors.ts'
import { askEngine } from './engine.ts'
import { explainTerm } from './explanation.ts'
import type { Explanation } from './explanation.ts'
import { policyErrors } from './policy-errors.ts'
import type { Facts } from './reading.ts'
import type { Ruleset } from './ruleset.ts'
import type { Verdict } from './verdict.ts'

export interface Evaluation {
  /** Names of the rules that are certainly true, in the order of the set. */
  readonly fired: readonly string[]
  /** How many rules the index let through. */
  readonly asked: number
  /** For any rule of the set, evaluated or not; undefined for a name that the set does not have. */
  verdict(name: string): Verdict | undefined
  /** The tree behind the verdict, read from the same facts; they must not have changed since. */
  explain(name: string): Explanation | undefined
}

/** `now` in milliseconds since 1970. Facts are read in place and must not change before the promise resolves. */
export async function evaluate(ruleset: Ruleset, facts: Facts, now: number): Promise<Evaluation> {
  if (!Number.isFinite(now) || Math.abs(now) > LAST_DATE_MS) throw new KubeNodeError(policyErrors.KN1000_time({ now }))
  const candidates = ruleset.index.candidates(facts)
  const fired = candidates.length === 0 ? [] : await fire(ruleset, candidates, facts, now)
  const explain = (name: string) => {
    const rule = ruleset.rules[ruleset.positions.get(name) ?? -1]
    return rule && explainTerm(rule.root, facts, now)
  }
  return { fired, asked: candidates.length, explain, verdict: (name) => explain(name)?.verdict }
}

/** The latest time that a Date can hold. */
const LAST_DATE_MS = 8.64e15

async function fire(
  ruleset: Ruleset,
  candidates: readonly number[],
  facts: Facts,
  now: number,
): Promise<readonly string[]> {
  const asked = candidates.flatMap((position) => ruleset.engineRules[position] ?? [])
  const names = new Set(await askEngine(asked, facts, now))
  return asked.map((rule) => rule.name).filter((name) => names.has(name))
}
