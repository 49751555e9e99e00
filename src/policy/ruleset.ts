// The rules that are asked together. Immutable: a changed rule makes a new set, so an evaluation that is under way keeps the set it began with.
import { KubeNodeError } from '#lib/errors.ts'
import { engineRule } from './engine.ts'
import type { EngineRule } from './engine.ts'
import { MAX_RULES } from './limits.ts'
import { RULE_CODES } from './problem.ts'
import { indexRules } from './rule-index.ts'
import type { RuleIndex } from './rule-index.ts'
import type { CompiledRule } from './rule.ts'

export interface Ruleset {
  /** In the order given, which is the order in which they are said to have fired. */
  readonly rules: readonly CompiledRule[]
  readonly positions: ReadonlyMap<string, number>
  readonly engineRules: readonly EngineRule[]
  readonly index: RuleIndex
}

export interface RulesetOptions {
  /** Without it every rule is asked: slower, same result. */
  readonly indexed?: boolean
}

export function createRuleset(rules: readonly CompiledRule[], { indexed = true }: RulesetOptions = {}): Ruleset {
  if (rules.length > MAX_RULES) {
    const message = `cannot make a set of ${rules.length} rules, at most ${MAX_RULES}; merge rules or remove some`
    throw new KubeNodeError(RULE_CODES.tooManyRules, message)
  }
  const positions = new Map<string, number>()
  for (const [position, { name }] of rules.entries()) {
    if (positions.has(name)) {
      const message = `cannot make a set with two rules named ${JSON.stringify(name)}; rename one`
      throw new KubeNodeError(RULE_CODES.duplicateRule, message)
    }
    positions.set(name, position)
  }
  const all = [...rules.keys()]
  const index = indexed ? indexRules(rules) : { always: all.length, candidates: () => all }
  return { rules: [...rules], positions, engineRules: rules.map(engineRule), index }
}
