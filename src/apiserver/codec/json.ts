// JSON to values and back without loss: whole numbers within 64 bits stay exact (bigint beyond 2^53), text is escaped as Go does.
// The fast path is the engine's own; the slow one runs only when the text can hold something that the engine would lose.

/** Sixteen digits in a row may be beyond 2^53; hits inside strings only cost time. */
const HAS_LONG_DIGITS = /\d{16}/
const LONG_DIGITS = /\d{16,}/g
const LARGEST_SAFE = String(Number.MAX_SAFE_INTEGER)
const MAY_BE_LONE_SURROGATE = /\\u[dD][89a-fA-F]/
const INTEGER = /^-?\d+$/
const INT64_MAX = 2n ** 63n - 1n
const INT64_MIN = -(2n ** 63n)

export function parseJson(text: string): unknown {
  const value: unknown = mayBeBig(text) ? JSON.parse(text, exactNumber) : JSON.parse(text)
  return MAY_BE_LONE_SURROGATE.test(text) ? wellFormed(value) : value
}

/** Many schemas contain the largest safe number itself, and a reviver makes reading them ten times slower. */
function mayBeBig(text: string): boolean {
  if (!HAS_LONG_DIGITS.test(text)) return false
  for (const [digits] of text.matchAll(LONG_DIGITS))
    if (digits.length > LARGEST_SAFE.length || digits > LARGEST_SAFE) return true
  return false
}

function exactNumber(_key: string, value: unknown, context?: { readonly source?: string }): unknown {
  if (typeof value !== 'number' || Number.isSafeInteger(value) || context?.source === undefined) return value
  if (!INTEGER.test(context.source)) return value
  const exact = BigInt(context.source)
  return exact >= INT64_MIN && exact <= INT64_MAX ? exact : value
}

/** Replaces lone surrogates by U+FFFD, in keys and values. */
function wellFormed(value: unknown): unknown {
  if (typeof value === 'string') return value.toWellFormed()
  if (Array.isArray(value)) return value.map(wellFormed)
  if (typeof value !== 'object' || value === null) return value
  return Object.fromEntries(Object.entries(value).map(([k, v]) => [k.toWellFormed(), wellFormed(v)]))
}

const NEEDS_ESCAPE = /[<>&\u2028\u2029]/
const TO_ESCAPE = /[<>&\u2028\u2029]/g
const escaped = (c: string): string => `\\u${c.charCodeAt(0).toString(16).padStart(4, '0')}`

/** JSON as Go's encoder writes it: these characters occur in strings only, so the whole text may be searched. */
export function formatJson(value: unknown, indent?: number): string {
  const text = stringify(value, indent)
  return NEEDS_ESCAPE.test(text) ? text.replace(TO_ESCAPE, escaped) : text
}

function stringify(value: unknown, indent?: number): string {
  try {
    return JSON.stringify(value, undefined, indent)
  } catch (e) {
    if (!(e instanceof TypeError)) throw e
    return JSON.stringify(value, rawBigints, indent)
  }
}

const rawBigints = (_key: string, v: unknown): unknown => (typeof v === 'bigint' ? rawJson(v.toString()) : v)

/** The standard library's types do not have it yet. */
const rawJson = (text: string): unknown => (JSON as unknown as { rawJSON(text: string): unknown }).rawJSON(text)

export const encodeJson = (value: unknown): Buffer => Buffer.from(formatJson(value), 'utf8')

/** Long-lived data gets memory of its own: a small Buffer is a slice of a pool, and one live slice keeps the whole pool alive. */
export function encodeJsonToKeep(value: unknown): Buffer {
  const text = formatJson(value)
  const bytes = Buffer.allocUnsafeSlow(Buffer.byteLength(text))
  bytes.write(text)
  return bytes
}
