// Fills in a template: `{{path.to.value}}` becomes that value, and nothing else is done. A path without a value is an error, never an empty text.
import { isObject, type JsonObject } from '#lib/json.ts'

export type Rendered =
  | { readonly kind: 'Rendered'; readonly text: string }
  | { readonly kind: 'Refused'; readonly reason: string }

const PLACEHOLDER = /\{\{\s*([^{}\s]*)\s*\}\}/g

/** A value may be long, and be used often. */
const MAX_RENDERED_CHARS = 4 * 2 ** 20

export function rendered(template: string, values: JsonObject): Rendered {
  const missing: string[] = []
  let length = 0
  const text = template.replaceAll(PLACEHOLDER, (_all, path: string) => {
    const value = valueAt(values, path)
    if (value === undefined) missing.push(path)
    const filled = typeof value === 'string' ? value : JSON.stringify(value ?? null)
    length += filled.length
    return length > MAX_RENDERED_CHARS ? '' : filled
  })
  const [first] = missing
  if (first !== undefined)
    return { kind: 'Refused', reason: `the configuration has no value at ${JSON.stringify(first)}` }
  if (length > MAX_RENDERED_CHARS)
    return { kind: 'Refused', reason: `the result exceeds ${MAX_RENDERED_CHARS} characters` }
  return { kind: 'Rendered', text }
}

function valueAt(values: JsonObject, path: string): unknown {
  let at: unknown = values
  for (const key of path.split('.')) {
    if (Array.isArray(at)) at = /^\d{1,6}$/.test(key) ? at[Number(key)] : undefined
    else at = isObject(at) && Object.hasOwn(at, key) ? at[key] : undefined
  }
  return at
}
