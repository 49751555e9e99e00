// Reads one place of the facts for one leaf. Not seen is not the same as not there: a fact that is undefined was not observed; a path that is
// missing (or null) inside a fact that was observed is known to be absent. Only `exists` and `absent` tell them apart; all else calls both unknown.
import { isObject } from '#lib/json.ts'
import { pointerTokens, valueAt } from './pointer.ts'
import { NOW } from './vocabulary.ts'

export type Facts = { readonly [fact: string]: unknown }

/** As it is; as milliseconds since 1970; as milliseconds until now; as whether it is there. */
export type ReadAs = 'value' | 'instant' | 'age' | 'presence'

export interface Place {
  readonly fact: string
  /** JSON pointer, empty for the whole fact. */
  readonly path: string
  readonly readAs: ReadAs
  /** Reading this value is like not having observed any: its reporter says that it does not know. */
  readonly unknownAs?: string
}

/** Kubernetes' first commit: a stamp from before it is a clock that was not set, and would make everything "held for years". */
const EARLIEST_STAMP_MS = Date.UTC(2014, 5, 6)

const RFC3339 = /^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(?:\.\d{1,9})?(?:Z|[+-]\d\d:\d\d)$/

/** Milliseconds of an RFC 3339 text; undefined for anything else. */
export function instantMs(text: unknown): number | undefined {
  if (typeof text !== 'string' || text.length > 40 || !RFC3339.test(text)) return undefined
  const ms = Date.parse(text)
  return Number.isNaN(ms) || ms < EARLIEST_STAMP_MS ? undefined : ms
}

/** How long ago; undefined when it lies in the future (a clock is wrong, so nothing can be said) or is no time. */
export function ageMs(text: unknown, now: number): number | undefined {
  const at = instantMs(text)
  return at === undefined || at > now ? undefined : now - at
}

/** The plain value at a place; undefined when it was not observed or is not there. */
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

/** Null is an observation: looked, and nothing there. */
export const isObserved = (facts: Facts, fact: string): boolean =>
  fact === NOW || (Object.hasOwn(facts, fact) && facts[fact] !== undefined)

/** Whether something is there; undefined when that was not observed, or what was observed has no such places at all. */
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
