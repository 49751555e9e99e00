// How long a rule has been true or false without interruption, from the times recorded next to the values that it reads. A later time is the safe
// side.
import { assertNever } from '#lib/errors.ts'
import { explainTerm } from '#policy/explanation.ts'
import { pointerTo, pointerTokens } from '#policy/pointer.ts'
import { type Facts, ageMs, rawAt } from '#policy/reading.ts'
import type { Group, Leaf, Term } from '#policy/rule.ts'
import { type Verdict, conjunction, disjunction, negate } from '#policy/verdict.ts'

export interface Judged {
  readonly verdict: Verdict
  /** Milliseconds since 1970. Undefined if no deciding value has a time, or only a time in the future. */
  readonly since: number | undefined
  /** False if a deciding value has no time: the rule may have changed later than `since`. */
  readonly isDated: boolean
}

/** The field with the start time of the same entry. */
const SINCE_FIELD: Readonly<Record<string, string>> = { conditions: 'lastTransitionTime', components: 'since' }

/** Where the last change of a value is recorded. Undefined if it is not. */
function sincePath(fact: string, path: string): string | undefined {
  if (fact === 'machine' && path === '/agentReachable') return '/agentReachableSince'
  const field = SINCE_FIELD[fact]
  const [thing, ...rest] = pointerTokens(path) ?? []
  return field === undefined || thing === undefined || rest.length === 0 ? undefined : pointerTo([thing, field])
}

export function judge(term: Term, facts: Facts, now: number): Judged {
  switch (term.kind) {
    case 'leaf':
      return judgeLeaf(term, facts, now)
    case 'not': {
      const child = judge(term.child, facts, now)
      return { ...child, verdict: negate(child.verdict) }
    }
    case 'all':
    case 'any':
      return judgeGroup(term, facts, now)
    default:
      return assertNever(term)
  }
}

function judgeGroup(term: Group, facts: Facts, now: number): Judged {
  const children = term.children.map((child) => judge(child, facts, now))
  const verdicts = children.map((c) => c.verdict)
  const isAll = term.kind === 'all'
  const verdict = isAll ? conjunction(verdicts) : disjunction(verdicts)
  if (verdict === 'unknown') return { verdict, since: undefined, isDated: false }
  // `all` holds since its last part became true, and fails since any one part became false. `any` is the mirror image.
  const needsEvery = isAll === (verdict === 'true')
  return { verdict, ...(needsEvery ? lastOf(children) : firstOf(children.filter((c) => c.verdict === verdict))) }
}

type Dating = Omit<Judged, 'verdict'>

function lastOf(parts: readonly Judged[]): Dating {
  const times = parts.flatMap((p) => p.since ?? [])
  return {
    since: times.length === 0 ? undefined : Math.max(...times),
    isDated: parts.every((p) => p.isDated && p.since !== undefined),
  }
}

function firstOf(parts: readonly Judged[]): Dating {
  const times = parts.flatMap((p) => (p.isDated && p.since !== undefined ? p.since : []))
  return times.length === 0 ? lastOf(parts) : { since: Math.min(...times), isDated: true }
}

function judgeLeaf(leaf: Leaf, facts: Facts, now: number): Judged {
  const { verdict } = explainTerm(leaf, facts, now)
  const { fact, path } = leaf.place
  const at = sincePath(fact, path)
  if (at === undefined || leaf.against.kind === 'fact') return { verdict, since: undefined, isDated: false }
  const age = ageMs(rawAt(facts, fact, at, now), now)
  return age === undefined
    ? { verdict, since: undefined, isDated: false }
    : { verdict, since: now - age, isDated: true }
}
