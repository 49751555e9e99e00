// JSON as data: types, equality, a canonical form for digests, and bounded parsing of untrusted text.

type JsonScalar = string | number | boolean | null
export type Json = JsonScalar | readonly Json[] | { readonly [key: string]: Json }
export type JsonObject = { readonly [key: string]: Json }

export const isObject = (v: unknown): v is Record<string, unknown> =>
  typeof v === 'object' && v !== null && !Array.isArray(v)

/** Structural equality of JSON values; key order does not matter, and undefined equals missing. */
export function jsonEqual(a: unknown, b: unknown): boolean {
  if (a === b) return true
  if (Array.isArray(a)) return Array.isArray(b) && a.length === b.length && a.every((x, i) => jsonEqual(x, b[i]))
  if (!isObject(a) || !isObject(b)) return false
  for (const k of Object.keys(a)) if (!jsonEqual(a[k], Object.hasOwn(b, k) ? b[k] : undefined)) return false
  for (const k of Object.keys(b)) if (b[k] !== undefined && !Object.hasOwn(a, k)) return false
  return true
}

/** Keys sorted by code unit at every level, no white space: equal values have equal bytes (RFC 8785 for what KubeNode writes). */
export function canonicalJson(value: unknown): string {
  if (typeof value !== 'object' || value === null) return JSON.stringify(value) ?? 'null'
  let [text, separator] = ['', '']
  if (Array.isArray(value)) {
    for (const item of value) {
      text += `${separator}${canonicalJson(item)}`
      separator = ','
    }
    return `[${text}]`
  }
  const fields = value as Readonly<Record<string, unknown>>
  for (const key of Object.keys(fields).sort()) {
    const field = fields[key]
    if (field === undefined) continue
    text += `${separator}${JSON.stringify(key)}:${canonicalJson(field)}`
    separator = ','
  }
  return `{${text}}`
}

/** Sets a key as plain data even if it is inherited, like `__proto__`: an assignment would call a setter, or fail on a frozen prototype. */
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

/** Levels of nesting; deeper values overflow the stack somewhere. */
export const MAX_JSON_DEPTH = 256

/** Whether a value contains itself, as YAML aliases allow: walking such a value never ends. */
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

/** True if the value nests deeper than `limit`, which also bounds this recursion. */
export function isDeeperThan(value: unknown, limit = MAX_JSON_DEPTH): boolean {
  if (limit < 0) return true
  if (typeof value !== 'object' || value === null) return false
  const below: readonly unknown[] = Array.isArray(value) ? value : Object.values(value)
  for (const part of below) if (isDeeperThan(part, limit - 1)) return true
  return false
}

const [QUOTE, BACKSLASH, OPEN_LIST, CLOSE_LIST, OPEN_OBJECT, CLOSE_OBJECT] = [0x22, 0x5c, 0x5b, 0x5d, 0x7b, 0x7d]

/** The same for text before parsing: parsing creates an object per level, which fills the memory. */
export function isDeeperJson(text: Uint8Array, limit = MAX_JSON_DEPTH): boolean {
  let [depth, isText] = [0, false]
  for (let at = 0; at < text.length; at++) {
    const byte = text[at]
    if (isText) {
      if (byte === BACKSLASH) at++
      else if (byte === QUOTE) isText = false
    } else if (byte === QUOTE) isText = true
    else if (byte === OPEN_LIST || byte === OPEN_OBJECT) {
      if (++depth > limit) return true
    } else if (byte === CLOSE_LIST || byte === CLOSE_OBJECT) depth--
  }
  return false
}
