// What a rule depends on besides its node: time, other nodes, earlier repairs. Decides when a verdict must be evaluated again.
import { durationMs } from '#lib/duration.ts'
import { explainTerm } from '#policy/explanation.ts'
import { pointerTokens } from '#policy/pointer.ts'
import { type Facts, type Place, instantMs, rawAt } from '#policy/reading.ts'
import type { CompiledRule, Leaf, Term } from '#policy/rule.ts'
import { type Verdict, negate } from '#policy/verdict.ts'
import { NOW } from '#policy/vocabulary.ts'

export interface RuleNeeds {
  /** It can change without an event. */
  readonly time: boolean
  /** The types of the node's own conditions that it reads; undefined: any. */
  readonly conditionTypes: ReadonlySet<string> | undefined
  readonly peers: boolean
  /** The condition types whose counts among peers it reads; undefined: unknown which. */
  readonly peerTypes: ReadonlySet<string> | undefined
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
    conditionTypes: typesIn(places, 'conditions', 0),
    peers: speaksOf('peers'),
    // A group, then a condition type: `/pool/TasksHung`.
    peerTypes: typesIn(places, 'peers', 1),
    cluster: speaksOf('cluster'),
    repairs: speaksOf('repairs'),
    marks: speaksOf('taints') || speaksOf('annotations'),
  }
  PER_RULE.set(rule, needs)
  return needs
}

function typesIn(places: readonly Place[], fact: string, token: number): ReadonlySet<string> | undefined {
  const types = places.filter((p) => p.fact === fact).map((p) => pointerTokens(p.path)?.[token])
  return types.includes(undefined) ? undefined : new Set(types.flatMap((type) => type ?? []))
}

/**
 * The next time at which the rule can become or cease to be true although its facts do not change. Undefined: never. Ages change their verdict once, when they
 * reach the wanted duration; what else depends on time is evaluated at each tick.
 */
export function nextChangeOf({ root }: CompiledRule, facts: Facts, now: number): number | undefined {
  const at = nextTimeOf(root, 'true', facts, now)
  return at === Infinity ? undefined : at
}

/** Where every part must be `wanted`, one that never will be by time alone decides: about a node without a fault, nothing changes. */
function nextTimeOf(term: Term, wanted: Verdict, facts: Facts, now: number): number {
  if (term.kind === 'leaf') return nextTimeOfLeaf(term, facts, now)
  if (term.kind === 'not') return nextTimeOf(term.child, negate(wanted), facts, now)
  const needsEvery = (term.kind === 'all') === (wanted === 'true')
  let next = Infinity
  for (const child of term.children) {
    const at = nextTimeOf(child, wanted, facts, now)
    if (at === Infinity && needsEvery && explainTerm(child, facts, now).verdict !== wanted) return Infinity
    next = Math.min(next, at)
  }
  return next
}

function nextTimeOfLeaf(leaf: Leaf, facts: Facts, now: number): number {
  let next = Infinity
  for (const { place, wantedMs } of timedPlacesOf(leaf)) {
    if (place.fact === NOW || place.fact === 'repairs' || wantedMs === undefined) return now + TICK_MS
    const at = instantMs(rawAt(facts, place.fact, place.path, now))
    if (at === undefined) continue
    for (const time of [at, at + wantedMs]) if (time > now) next = Math.min(next, time)
  }
  return next
}

interface TimedPlace {
  readonly place: Place
  /** Undefined: it is compared with another fact. */
  readonly wantedMs: number | undefined
}

const TIMED = new WeakMap<Leaf, readonly TimedPlace[]>()

function timedPlacesOf(leaf: Leaf): readonly TimedPlace[] {
  const known = TIMED.get(leaf)
  if (known !== undefined) return known
  const { place, against, wanted } = leaf
  const wantedMs = against.kind === 'value' && typeof wanted === 'string' ? durationMs(wanted) : undefined
  const own = place.readAs === 'age' ? [{ place, wantedMs }] : []
  const others = [place, ...(against.kind === 'fact' ? [against.place] : [])]
    .filter((p) => p.fact === NOW || p.fact === 'repairs' || (p !== place && p.readAs === 'age'))
    .map((p) => ({ place: p, wantedMs: undefined }))
  const found = [...own, ...others]
  TIMED.set(leaf, found)
  return found
}

export function placesOf(term: Term): readonly Place[] {
  if (term.kind === 'not') return placesOf(term.child)
  if (term.kind !== 'leaf') return term.children.flatMap(placesOf)
  return [term.place, ...(term.against.kind === 'fact' ? [term.against.place] : [])]
}
