// The only file that knows json-rules-engine. Every evaluation gets its own engine, rules and almanac: with a shared engine, the first run to finish
// would silently stop the rules of the second. Creating them costs 5 % of a run.
import { Almanac, Engine, Operator as EngineOperator } from 'json-rules-engine'
import type { TopLevelCondition } from 'json-rules-engine'
import { findOperator, isMisfit } from './operators/decorated.ts'
import type { Test } from './operators/operator.ts'
import { pointerTokens, valueAt } from './pointer.ts'
import { engineConditions, FAILS } from './normal-form.ts'
import type { EngineParams } from './normal-form.ts'
import { readPlace } from './reading.ts'
import type { Facts } from './reading.ts'
import type { CompiledRule, Term } from './rule.ts'
import type { Verdict } from './verdict.ts'
import { defined } from '#lib/defined.ts'

/** Created once per rule: conditions in normal form and their operators. A run changes nothing in it. */
export interface EngineRule {
  readonly name: string
  readonly conditions: TopLevelCondition
  readonly operators: readonly EngineOperator[]
}

export function engineRule(rule: CompiledRule): EngineRule {
  // The engine's types allow neither readonly data nor functions as values; the engine itself accepts both.
  const conditions = engineConditions(rule.root) as unknown as TopLevelCondition
  return { name: rule.name, conditions, operators: [...operatorNames(rule.root)].flatMap(engineOperators) }
}

/** Names of the rules that are certainly true, in no particular order. */
export async function askEngine(rules: readonly EngineRule[], facts: Facts, now: number): Promise<readonly string[]> {
  const engine = new Engine([], { allowUndefinedFacts: true, pathResolver })
  for (const { name, conditions, operators } of rules) {
    engine.addRule({ name, conditions, event: EVENT })
    for (const operator of operators) engine.addOperator(operator)
  }
  const { results } = await engine.run({}, { almanac: new FactsAlmanac(facts, now) })
  return results.map((result) => result.name)
}

const EVENT = { type: 'true' }

/** Never JSONPath, whose expressions are code. */
const pathResolver = (value: object, path: string): unknown => valueAt(value, pointerTokens(path) ?? [''])

/** Reads facts in place: nothing is copied, hashed or cached. */
class FactsAlmanac extends Almanac {
  readonly #facts: Facts
  readonly #now: number

  constructor(facts: Facts, now: number) {
    super({ allowUndefinedFacts: true, pathResolver })
    this.#facts = facts
    this.#now = now
  }

  override factValue<T>(fact: string, params?: Partial<EngineParams>, path = ''): Promise<T> {
    const { readAs = 'value', unknownAs } = params ?? {}
    const place = { fact, path, readAs, ...defined({ unknownAs }) }
    return Promise.resolve(readPlace(this.#facts, place, this.#now) as T)
  }
}

function operatorNames(term: Term): ReadonlySet<string> {
  if (term.kind === 'leaf') return new Set([term.operator])
  return new Set((term.kind === 'not' ? [term.child] : term.children).flatMap((child) => [...operatorNames(child)]))
}

/** `op` and `fails:op`; the operand is a bound test, or the value of a second fact. */
function engineOperators(name: string): readonly EngineOperator[] {
  const operator = findOperator(name)
  if (isMisfit(operator)) return []
  const judge = (seen: unknown, operand: unknown): Verdict =>
    typeof operand === 'function' ? (operand as Test)(seen) : (operator.compare?.(seen, operand) ?? 'unknown')
  return [
    new EngineOperator(name, (seen, operand) => judge(seen, operand) === 'true'),
    new EngineOperator(`${FAILS}${name}`, (seen, operand) => judge(seen, operand) === 'false'),
  ]
}
