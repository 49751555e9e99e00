// What a rule depends on besides its node: time, other nodes, earlier repairs. Decides when a verdict must be evaluated again.
import { durationMs } from '#lib/duration.ts'
import { pointerTokens } from '#policy/pointer.ts'
import { type Facts, type Place, instantMs, rawAt } from '#policy/reading.ts'
import type { CompiledRule, Term } from '#policy/rule.ts'
import { NOW } from '#policy/vocabulary.ts'

export interface RuleNeeds {
  /** It can change without an event. */
  readonly time: boolean
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
    peers: speaksOf('peers'),
    peerTypes: peerTypesOf(places),
    cluster: speaksOf('cluster'),
    repairs: speaksOf('repairs'),
    marks: speaksOf('taints') || speaksOf('annotations'),
  }
  PER_RULE.set(rule, needs)
  return needs
}

/** `/pool/TasksHung`: a group, then a condition type. */
function peerTypesOf(places: readonly Place[]): ReadonlySet<string> | undefined {
  const types = places.filter((p) => p.fact === 'peers').map((p) => pointerTokens(p.path)?.[1])
  return types.includes(undefined) ? undefined : new Set(types.flatMap((type) => type ?? []))
}

/**
 * The next time at which the rule can change although its facts do not. Undefined: never. Ages change their verdict once, when they reach the wanted
 * duration; what else depends on time is evaluated at each tick.
 */
export function nextChangeOf({ root }: CompiledRule, facts: Facts, now: number): number | undefined {
  const times = timedPlacesOf(root).flatMap(({ place, wantedMs }): readonly number[] => {
    if (place.fact === NOW || place.fact === 'repairs' || wantedMs === undefined) return [now + TICK_MS]
    const at = instantMs(rawAt(facts, place.fact, place.path, now))
    return at === undefined ? [] : [at, at + wantedMs].filter((time) => time > now)
  })
  return times.length === 0 ? undefined : Math.min(...times)
}

interface TimedPlace {
  readonly place: Place
  /** Undefined: it is compared with another fact. */
  readonly wantedMs: number | undefined
}

const TIMED = new WeakMap<Term, readonly TimedPlace[]>()

function timedPlacesOf(term: Term): readonly TimedPlace[] {
  const known = TIMED.get(term)
  if (known !== undefined) return known
  const found = findTimedPlaces(term)
  TIMED.set(term, found)
  return found
}

function findTimedPlaces(term: Term): readonly TimedPlace[] {
  if (term.kind === 'not') return findTimedPlaces(term.child)
  if (term.kind !== 'leaf') return term.children.flatMap(findTimedPlaces)
  const { place, against, wanted } = term
  const wantedMs = against.kind === 'value' && typeof wanted === 'string' ? durationMs(wanted) : undefined
  const own = place.readAs === 'age' ? [{ place, wantedMs }] : []
  const others = [place, ...(against.kind === 'fact' ? [against.place] : [])]
    .filter((p) => p.fact === NOW || p.fact === 'repairs' || (p !== place && p.readAs === 'age'))
    .map((p) => ({ place: p, wantedMs: undefined }))
  return [...own, ...others]
}

function placesOf(term: Term): readonly Place[] {
  if (term.kind === 'not') return placesOf(term.child)
  if (term.kind !== 'leaf') return term.children.flatMap(placesOf)
  return [term.place, ...(term.against.kind === 'fact' ? [term.against.place] : [])]
}
