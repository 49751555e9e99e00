// JSON pointers (RFC 6901): the only way for a rule to read inside a fact. Only own properties are read, so `__proto__` is data like any other key.
import { isObject } from '#lib/json.ts'

/** The segments, or undefined when the text is not a pointer. The empty pointer is the whole fact. */
export function pointerTokens(pointer: string): readonly string[] | undefined {
  if (pointer === '') return []
  if (!pointer.startsWith('/')) return undefined
  const tokens = pointer.slice(1).split('/')
  if (!pointer.includes('~')) return tokens
  if (/~(?![01])/.test(pointer)) return undefined
  return tokens.map((t) => t.replaceAll('~1', '/').replaceAll('~0', '~'))
}

export const pointerTo = (tokens: readonly (string | number)[]): string =>
  tokens.map((t) => `/${String(t).replaceAll('~', '~0').replaceAll('/', '~1')}`).join('')

/** The value at this path, or undefined. Never enters lists: an index into a Kubernetes list means nothing. */
export function valueAt(value: unknown, tokens: readonly string[]): unknown {
  let at = value
  for (const token of tokens) {
    if (!isObject(at) || !Object.hasOwn(at, token)) return undefined
    at = at[token]
  }
  return at
}
