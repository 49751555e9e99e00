// Why a rule is true, false or unknown: the tree as its author wrote it, with the expected and the observed value of each leaf. Built only on request,
// with the same bound tests as the engine; a property test compares the verdicts.
import { isObject } from '#lib/json.ts'
import type { Json } from '#lib/json.ts'
import { MAX_SHOWN_CHARS, MAX_SHOWN_ITEMS } from './limits.ts'
import { isObserved, rawAt, readPlace } from './reading.ts'
import type { Facts, Place } from './reading.ts'
import type { Leaf, Term } from './rule.ts'
import { conjunction, disjunction, negate } from './verdict.ts'
import type { Verdict } from './verdict.ts'

export interface LeafExplanation {
  readonly kind: 'leaf'
  readonly verdict: Verdict
  readonly fact: string
  readonly path: string
  readonly operator: string
  /** As written. With a second fact: `{fact, path}`. */
  readonly wanted: Json | undefined
  /** Undefined when there is no value. */
  readonly seen: unknown
  /** The value of the second fact. */
  readonly against?: unknown
  /** Why the verdict is unknown. */
  readonly because?: string
  readonly pointer: string
}

export type Explanation =
  | LeafExplanation
  | {
      readonly kind: 'all' | 'any' | 'not'
      readonly verdict: Verdict
      readonly name?: string
      readonly children: readonly Explanation[]
    }

export function explainTerm(term: Term, facts: Facts, now: number): Explanation {
  if (term.kind === 'leaf') return explainLeaf(term, facts, now)
  const name = term.name === undefined ? {} : { name: term.name }
  if (term.kind === 'not') {
    const child = explainTerm(term.child, facts, now)
    return { kind: 'not', verdict: negate(child.verdict), ...name, children: [child] }
  }
  const children = term.children.map((child) => explainTerm(child, facts, now))
  const verdicts = children.map((child) => child.verdict)
  const verdict = term.kind === 'all' ? conjunction(verdicts) : disjunction(verdicts)
  return { kind: term.kind, verdict, ...name, children }
}

function explainLeaf({ place, operator, wanted, against, pointer }: Leaf, facts: Facts, now: number): LeafExplanation {
  const read = readPlace(facts, place, now)
  const other = against.kind === 'fact' ? readPlace(facts, against.place, now) : undefined
  const verdict = against.kind === 'fact' ? against.compare(read, other) : against.bound.test(read)
  const { fact, path } = place
  const seen = rawAt(facts, fact, path, now)
  return {
    kind: 'leaf',
    verdict,
    fact,
    path,
    operator,
    wanted,
    seen,
    ...(against.kind === 'fact' ? { against: rawAt(facts, against.place.fact, against.place.path, now) } : {}),
    ...(verdict === 'unknown' ? { because: whyUnknown(place, read, facts, seen, against.kind === 'fact') } : {}),
    pointer,
  }
}

function whyUnknown(place: Place, read: unknown, facts: Facts, seen: unknown, comparesFacts: boolean): string {
  if (!isObserved(facts, place.fact)) return 'not observed'
  if (seen === undefined) return place.readAs === 'presence' ? 'its parent has another type' : 'not there'
  if (place.unknownAs !== undefined && seen === place.unknownAs) return `reported as ${place.unknownAs}`
  if (place.readAs === 'age' && read === undefined) return 'not a time, or in the future'
  if (place.readAs === 'instant' && read === undefined) return 'not a time'
  return comparesFacts ? 'one of the two cannot be compared' : 'the observed value cannot be compared'
}

/** The tree as indented lines, one for each leaf or group. */
export function renderExplanation(explanation: Explanation, indent = ''): string {
  const head = `${explanation.verdict.padEnd(7)} ${indent}`
  if (explanation.kind !== 'leaf') {
    const name = explanation.name === undefined ? '' : ` (${shown(explanation.name)})`
    const children = explanation.children.map((child) => renderExplanation(child, `${indent}  `))
    return [`${head}${explanation.kind}${name}`, ...children].join('\n')
  }
  const { fact, path, operator, wanted, seen, because } = explanation
  const against = 'against' in explanation ? ` = ${shown(explanation.against)}` : ''
  const why = because === undefined ? '' : ` (${because})`
  const asked = wanted === undefined ? '' : ` ${shown(wanted)}`
  return `${head}${fact}${path} ${operator}${asked}${against}, seen ${shown(seen)}${why}`
}

/** Cut to a readable length and depth. Control characters stay escaped, so that a fact cannot manipulate the terminal. */
export function shown(value: unknown): string {
  const text = Array.isArray(value)
    ? `[${value.slice(0, MAX_SHOWN_ITEMS).map(shownScalar).join(', ')}${value.length > MAX_SHOWN_ITEMS ? ', …' : ''}]`
    : isObject(value)
      ? `{${Object.keys(value)
          .slice(0, MAX_SHOWN_ITEMS)
          .map((key) => `${shownScalar(key)}: ${shownScalar(value[key])}`)
          .join(', ')}}`
      : shownScalar(value)
  return text.length > MAX_SHOWN_CHARS ? `${text.slice(0, MAX_SHOWN_CHARS)}…` : text
}

function shownScalar(value: unknown): string {
  if (value === undefined) return 'nothing'
  if (typeof value === 'string') return JSON.stringify(value.slice(0, MAX_SHOWN_CHARS))
  if (Array.isArray(value)) return '[…]'
  return isObject(value) ? '{…}' : String(value)
}
