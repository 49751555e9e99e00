// Selects which rules are worth evaluating for a set of facts. Each rule provides one necessary condition: a set of (place, value) pairs of which at
// least one must be present, or the rule cannot be true. A rule without such a set is always evaluated. The selection never changes a result; a property
// test compares it with evaluating every rule.
import type { Scalar } from './operators/operator.ts'
import { pointerTokens, valueAt } from './pointer.ts'
import type { Facts } from './reading.ts'
import type { CompiledRule, Leaf, Term } from './rule.ts'
import { NOW } from './vocabulary.ts'

/** A value that must be observed at a place. */
export interface Key {
  readonly fact: string
  readonly path: string
  readonly value: Scalar
}

interface Slot {
  readonly fact: string
  readonly tokens: readonly string[]
  /** Positions of the rules by the value that must be observed. */
  readonly byValue: Map<Scalar, number[]>
}

export interface RuleIndex {
  /** Positions, ascending, of the rules that could be true. */
  candidates(facts: Facts): readonly number[]
  /** Of which one must be observed for the rule at the position to be true; undefined: it is evaluated for any facts. */
  keysOf(position: number): readonly Key[] | undefined
  /** How many rules are evaluated for any facts. */
  readonly always: number
}

const keyId = (k: Key): string => JSON.stringify([k.fact, k.path, k.value])
const slotId = (k: Key): string => JSON.stringify([k.fact, k.path])

export function indexRules(rules: readonly CompiledRule[]): RuleIndex {
  const uses = new Map<string, number>()
  for (const rule of rules)
    for (const id of new Set(allKeys(rule.root, true).map(keyId))) uses.set(id, (uses.get(id) ?? 0) + 1)
  /** How many rules share the keys: with fewer, this rule is evaluated in vain less often. */
  const cost = (keys: readonly Key[]) => keys.reduce((sum, k) => sum + (uses.get(keyId(k)) ?? 0), 0)

  const always: number[] = []
  const slots = new Map<string, Slot>()
  const keysOf = rules.map((rule) => necessaryKeys(rule.root, true, cost))
  for (const [position, keys] of keysOf.entries()) {
    if (keys === undefined) always.push(position)
    else for (const key of keys) addKey(slots, key, position)
  }
  const list = [...slots.values()]
  return {
    always: always.length,
    candidates: (facts) => candidatesOf(facts, list, always),
    keysOf: (position) => keysOf[position],
  }
}

function addKey(slots: Map<string, Slot>, key: Key, position: number): void {
  const id = slotId(key)
  const slot = slots.get(id) ?? { fact: key.fact, tokens: pointerTokens(key.path) ?? [], byValue: new Map() }
  slots.set(id, slot)
  const positions = slot.byValue.get(key.value) ?? []
  slot.byValue.set(key.value, positions)
  if (positions.at(-1) !== position) positions.push(position)
}

function candidatesOf(facts: Facts, slots: readonly Slot[], always: readonly number[]): readonly number[] {
  let found: Set<number> | undefined
  for (const { fact, tokens, byValue } of slots) {
    const seen = Object.hasOwn(facts, fact) ? valueAt(facts[fact], tokens) : undefined
    const positions = isScalar(seen) ? byValue.get(seen) : undefined
    if (positions === undefined) continue
    found ??= new Set(always)
    for (const p of positions) found.add(p)
  }
  return found === undefined ? always : [...found].sort((a, b) => a - b)
}

const isScalar = (v: unknown): v is Scalar => typeof v === 'string' || typeof v === 'number' || typeof v === 'boolean'

/** The cheapest set of keys of which one must be observed for the term to be true (or, if `positive` is false, to be false). */
function necessaryKeys(
  term: Term,
  positive: boolean,
  cost: (keys: readonly Key[]) => number,
): readonly Key[] | undefined {
  if (term.kind === 'leaf') return leafKeys(term, positive)
  if (term.kind === 'not') return necessaryKeys(term.child, !positive, cost)
  const each = term.children.map((child) => necessaryKeys(child, positive, cost))
  const everyChildMustHold = (term.kind === 'all') === positive
  const known = each.filter((keys) => keys !== undefined)
  if (everyChildMustHold) return known.toSorted((a, b) => cost(a) - cost(b))[0]
  return known.length === each.length ? known.flat() : undefined
}

function leafKeys({ place, against }: Leaf, positive: boolean): readonly Key[] | undefined {
  if (against.kind === 'fact' || place.readAs !== 'value' || place.fact === NOW) return undefined
  const values = positive ? against.bound.onlyFor : against.bound.falseOnlyFor
  return values?.map((value) => ({ fact: place.fact, path: place.path, value }))
}

function allKeys(term: Term, positive: boolean): readonly Key[] {
  if (term.kind === 'leaf') return leafKeys(term, positive) ?? []
  if (term.kind === 'not') return allKeys(term.child, !positive)
  return term.children.flatMap((child) => allKeys(child, positive))
}
