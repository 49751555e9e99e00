// JSON as data: types, equality, a canonical form for digests, and a parse that bounds what strangers may send.

type JsonScalar = string | number | boolean | null
export type Json = JsonScalar | readonly Json[] | { readonly [key: string]: Json }
export type JsonObject = { readonly [key: string]: Json }

export const isObject = (v: unknown): v is Record<string, unknown> =>
  typeof v === 'object' && v !== null && !Array.isArray(v)

/** Structural equality of JSON values; the order of keys does not matter, absent and undefined are the same. */
export function jsonEqual(a: unknown, b: unknown): boolean {
  if (a === b) return true
  if (Array.isArray(a)) return Array.isArray(b) && a.length === b.length && a.every((x, i) => jsonEqual(x, b[i]))
  if (!isObject(a) || !isObject(b)) return false
  for (const k of Object.keys(a)) if (!jsonEqual(a[k], Object.hasOwn(b, k) ? b[k] : undefined)) return false
  for (const k of Object.keys(b)) if (b[k] !== undefined && !Object.hasOwn(a, k)) return false
  return true
}

/** Keys sorted by code unit at every level, no white space: equal values have equal bytes (RFC 8785 for what we write). */
export function canonicalJson(value: unknown): string {
  if (Array.isArray(value)) return `[${value.map((v) => canonicalJson(v === undefined ? null : v)).join(',')}]`
  if (isObject(value)) {
    const keys = Object.keys(value)
      .filter((k) => value[k] !== undefined)
      .sort((a, b) => (a < b ? -1 : 1))
    return `{${keys.map((k) => `${JSON.stringify(k)}:${canonicalJson(value[k])}`).join(',')}}`
  }
  return JSON.stringify(value) ?? 'null'
}

/** Sets a key as plain data even when it is inherited, like `__proto__`: an assignment would call a setter, or fail on a frozen prototype. */
export function setOwn(target: object, key: string, value: unknown): void {
  if (key in target && !Object.hasOwn(target, key))
    Object.defineProperty(target, key, { value, enumerable: true, configurable: true, writable: true })
  else (target as Record<string, unknown>)[key] = value
}

/** A deep copy of JSON data that keeps every own key as data. */
export function cloneJson<T>(value: T): T {
  if (Array.isArray(value)) return value.map(cloneJson) as T
  if (!isObject(value)) return value
  const out = {}
  for (const k of Object.keys(value)) setOwn(out, k, cloneJson(value[k]))
  return out as T
}

/** Levels of nesting; more than this recurses past a safe stack somewhere. */
export const MAX_JSON_DEPTH = 256

/** Whether a value contains itself, as aliases of YAML can make it: whatever walks such a value never ends. */
export function isCyclic(value: unknown): boolean {
  const finished = new Set<unknown>()
  const path = new Set<unknown>()
  const todo: { readonly of: unknown; readonly rest: unknown[] }[] = []
  const enter = (v: unknown): void => {
    const rest = Array.isArray(v) ? [...v] : isObject(v) ? Object.values(v) : undefined
    if (rest === undefined) return
    path.add(v)
    todo.push({ of: v, rest })
  }
  enter(value)
  for (let last = todo.at(-1); last !== undefined; last = todo.at(-1)) {
    if (last.rest.length === 0) {
      todo.pop()
      path.delete(last.of)
      finished.add(last.of)
      continue
    }
    const next = last.rest.pop()
    if (path.has(next)) return true
    if (!finished.has(next)) enter(next)
  }
  return false
}

/** True when the value nests deeper than `limit`; does not recurse itself. */
export function isDeeperThan(value: unknown, limit = MAX_JSON_DEPTH): boolean {
  let level: unknown[] = [value]
  for (let depth = 0; level.length > 0; depth++) {
    if (depth > limit) return true
    level = level.flatMap((v) => (Array.isArray(v) ? v : isObject(v) ? Object.values(v) : []))
  }
  return false
}
