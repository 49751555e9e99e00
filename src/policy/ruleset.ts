// The rules that are evaluated together. Immutable: a changed rule makes a new set, so a running evaluation keeps the set that it started with.
import { KubeNodeError } from '#lib/errors.ts'
import { engineRule } from './engine.ts'
import type { EngineRule } from './engine.ts'
import { MAX_RULES } from './limits.ts'
import { policyErrors } from './policy-errors.ts'
import { indexRules } from './rule-index.ts'
import type { RuleIndex } from './rule-index.ts'
import type { CompiledRule } from './rule.ts'

export interface Ruleset {
  /** In the given order; fired rules are reported in this order. */
  readonly rules: readonly CompiledRule[]
  readonly positions: ReadonlyMap<string, number>
  readonly engineRules: readonly EngineRule[]
  readonly index: RuleIndex
}

export interface RulesetOptions {
  /** Without it every rule is evaluated: slower, same result. */
  readonly indexed?: boolean
}

export function createRuleset(rules: readonly CompiledRule[], { indexed = true }: RulesetOptions = {}): Ruleset {
  if (rules.length > MAX_RULES)
    throw new KubeNodeError(policyErrors.KN4002_set({ count: rules.length, maxRules: MAX_RULES }))
  const positions = new Map<string, number>()
  for (const [position, { name }] of rules.entries()) {
    if (positions.has(name)) throw new KubeNodeError(policyErrors.KN4016({ name: JSON.stringify(name) }))
    positions.set(name, position)
  }
  const all = [...rules.keys()]
  const index = indexed ? indexRules(rules) : { always: all.length, candidates: () => all, keysOf: () => undefined }
  return { rules: [...rules], positions, engineRules: rules.map(engineRule), index }
}
