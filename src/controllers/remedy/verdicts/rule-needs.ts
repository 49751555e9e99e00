// What a rule depends on besides its node: time, other nodes, earlier repairs. Decides when a verdict must be evaluated again.
import type { Place } from '#policy/reading.ts'
import type { CompiledRule, Term } from '#policy/rule.ts'
import { NOW } from '#policy/vocabulary.ts'

export interface RuleNeeds {
  /** It can change without an event. */
  readonly time: boolean
  readonly peers: boolean
  readonly cluster: boolean
  readonly repairs: boolean
  /** Taints and annotations, which our cordons change. */
  readonly marks: boolean
}

/** A rule with an age becomes true without an event. It is evaluated this often. */
export const TICK_MS = 5_000

const PER_RULE = new WeakMap<CompiledRule, RuleNeeds>()

export function needsOf(rule: CompiledRule): RuleNeeds {
  const known = PER_RULE.get(rule)
  if (known !== undefined) return known
  const places = placesOf(rule.root)
  const speaksOf = (fact: string) => places.some((p) => p.fact === fact)
  const needs = {
    // Repairs leave the one-day window on their own.
    time: places.some((p) => p.readAs === 'age' || p.fact === NOW) || speaksOf('repairs'),
    peers: speaksOf('peers'),
    cluster: speaksOf('cluster'),
    repairs: speaksOf('repairs'),
    marks: speaksOf('taints') || speaksOf('annotations'),
  }
  PER_RULE.set(rule, needs)
  return needs
}

function placesOf(term: Term): readonly Place[] {
  if (term.kind === 'not') return placesOf(term.child)
  if (term.kind !== 'leaf') return term.children.flatMap(placesOf)
  return [term.place, ...(term.against.kind === 'fact' ? [term.against.place] : [])]
}
