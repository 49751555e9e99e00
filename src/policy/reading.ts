// Reads one place of the facts for one leaf. "Not observed" differs from "absent": an undefined fact was not observed, but a path that is missing (or
// null) inside an observed fact is known to be absent. Only `exists` and `absent` tell them apart; all other operators treat both as unknown.
import { isObject } from '#lib/json.ts'
import { pointerTokens, valueAt } from './pointer.ts'
import { NOW } from './vocabulary.ts'

export type Facts = { readonly [fact: string]: unknown }

/** As the value itself; as milliseconds since 1970; as age in milliseconds; as presence. */
export type ReadAs = 'value' | 'instant' | 'age' | 'presence'

export interface Place {
  readonly fact: string
  /** JSON pointer; empty for the whole fact. */
  readonly path: string
  readonly readAs: ReadAs
  /** This value counts as not observed: with it, the reporter means that it does not know. */
  readonly unknownAs?: string
}

/** Kubernetes' first commit: an earlier timestamp comes from an unset clock, and would make everything "true for years". */
const EARLIEST_STAMP_MS = Date.UTC(2014, 5, 6)

const RFC3339 = /^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(?:\.\d{1,9})?(?:Z|[+-]\d\d:\d\d)$/

/** Milliseconds of an RFC 3339 text; undefined for anything else. */
export function instantMs(text: unknown): number | undefined {
  if (typeof text !== 'string' || text.length > 40 || !RFC3339.test(text)) return undefined
  const ms = Date.parse(text)
  return Number.isNaN(ms) || ms < EARLIEST_STAMP_MS ? undefined : ms
}

/** The age; undefined for a time in the future (a clock is wrong, so nothing can be concluded) or an invalid time. */
export function ageMs(text: unknown, now: number): number | undefined {
  const at = instantMs(text)
  return at === undefined || at > now ? undefined : now - at
}

/** The plain value at a place; undefined when it was not observed or is absent. */
export function rawAt(facts: Facts, fact: string, path: string, now: number): unknown {
  if (fact === NOW) return new Date(now).toISOString()
  const root = Object.hasOwn(facts, fact) ? facts[fact] : undefined
  if (path === '') return root ?? undefined
  const tokens = pointerTokens(path)
  return (tokens === undefined ? undefined : valueAt(root, tokens)) ?? undefined
}

export function readPlace(facts: Facts, { fact, path, readAs, unknownAs }: Place, now: number): unknown {
  if (readAs === 'presence') return presenceAt(facts, fact, path)
  if (readAs !== 'value' && fact === NOW) return readAs === 'age' ? 0 : now
  const raw = rawAt(facts, fact, path, now)
  if (readAs === 'value') return unknownAs !== undefined && raw === unknownAs ? undefined : raw
  return readAs === 'age' ? ageMs(raw, now) : instantMs(raw)
}

/** Null is an observation: checked, and absent. */
export const isObserved = (facts: Facts, fact: string): boolean =>
  fact === NOW || (Object.hasOwn(facts, fact) && facts[fact] !== undefined)

/** Whether a value exists; undefined when that was not observed, or the observed value cannot have such a path. */
function presenceAt(facts: Facts, fact: string, path: string): boolean | undefined {
  if (!isObserved(facts, fact)) return undefined
  let at: unknown = fact === NOW ? '' : facts[fact]
  for (const token of pointerTokens(path) ?? []) {
    if (at === null) return false
    if (!isObject(at)) return undefined
    at = Object.hasOwn(at, token) ? at[token] : null
  }
  return at !== null && at !== undefined
}
