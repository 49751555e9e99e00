// Fills values into a template so that a reader of its format gets each value back exactly, and nothing else changes. Refuses values that cannot be written
// that way.
import { assertNever } from '#lib/errors.ts'
import { isObject, type JsonObject } from '#lib/json.ts'
import { PLACEHOLDER, readTemplate, type Standing, type TemplateFormat } from './placeholders.ts'

export type Filled =
  | { readonly kind: 'Rendered'; readonly text: string }
  | { readonly kind: 'Refused'; readonly reason: string }

/** A value may be long and used often. */
const MAX_RENDERED_CHARS = 4 * 2 ** 20

const CONTROL = /[\u0000-\u001f\u007f-\u009f\u2028\u2029\ufeff]/ // oxlint-disable-line no-control-regex
/** Characters that some ini dialect treats as a quote, a comment, an escape or an expansion. */
const INI_SPECIAL = /["'`\\;#%$]/

const refused = (reason: string): Filled => ({ kind: 'Refused', reason })

export function filled(text: string, format: TemplateFormat | undefined, values: JsonObject): Filled {
  if (format === undefined)
    return text.search(PLACEHOLDER) < 0 ? { kind: 'Rendered', text } : refused('its template declares no format')
  const read = readTemplate(text, format)
  if (!read.ok) return refused(`its template ${read.problem}`)
  const { texts, paths, standings } = read.template
  const parts = [texts[0] ?? '']
  let length = 0
  for (const [i, path] of paths.entries()) {
    const value = valueAt(values, path)
    if (value === undefined) return refused(`the configuration has no value at ${JSON.stringify(path)}`)
    const written = write(value, format, standings[i] ?? 'any')
    if (typeof written !== 'string') return refused(`the value at ${JSON.stringify(path)} ${written.problem}`)
    length += written.length
    if (length > MAX_RENDERED_CHARS) return refused(`the result exceeds ${MAX_RENDERED_CHARS} characters`)
    parts.push(written, texts[i + 1] ?? '')
  }
  return { kind: 'Rendered', text: parts.join('') }
}

type Written = string | { readonly problem: string }

function write(value: unknown, format: TemplateFormat, standing: Standing): Written {
  const text = typeof value === 'string' ? value : jsonOf(value)
  if (!text.isWellFormed()) return { problem: 'is not well-formed Unicode' }
  switch (format) {
    case 'json':
    case 'yaml':
      return standing === 'value' ? jsonOf(value) : inside(text)
    case 'toml':
      return standing === 'value' ? tomlOf(value) : inside(text)
    case 'shell':
      return shellOf(text, standing)
    case 'ini':
      if (CONTROL.test(text) || INI_SPECIAL.test(text) || text.trim() !== text || text === '')
        return {
          problem: `is empty, or has control characters, outer spaces or one of "'\`\\;#%$, which ini cannot hold`,
        }
      return text
    case 'plain':
      return CONTROL.test(text) ? { problem: 'has control characters, which plain text cannot escape' } : text
    default:
      return assertNever(format)
  }
}

const escaped = (json: string): string =>
  json.replaceAll(
    /[\u007f-\u009f\u2028\u2029\ufeff\ufffe\uffff]/g,
    (c) => `\\u${(c.codePointAt(0) ?? 0).toString(16).padStart(4, '0')}`,
  )

/** With a dot, every reader parses 1e21 as a number. */
const numberOf = (n: number): string => JSON.stringify(n).replace(/^(-?\d+)e/, '$1.0e')

function jsonOf(value: unknown): string {
  if (typeof value === 'number') return numberOf(value)
  return escaped(JSON.stringify(value ?? null))
}

const inside = (text: string): string => escaped(JSON.stringify(text)).slice(1, -1)

function tomlOf(value: unknown): Written {
  if (typeof value === 'number')
    return Number.isInteger(value) && !Number.isSafeInteger(value)
      ? numberOf(value).replace(/^(-?\d+)$/, '$1.0')
      : numberOf(value)
  if (typeof value === 'string' || typeof value === 'boolean') return jsonOf(value)
  if (!Array.isArray(value)) return { problem: 'is an object or null, which is no value of TOML here' }
  const items = value.map(tomlOf)
  return items.find((item) => typeof item !== 'string') ?? `[${items.join(', ')}]`
}

function shellOf(text: string, standing: Standing): Written {
  if (text.includes('\0')) return { problem: 'has a NUL character, which no shell can hold' }
  if (standing === 'double') return text.replaceAll(/[\\"$`]/g, String.raw`\$&`)
  const quoted = text.replaceAll("'", String.raw`'\''`)
  return standing === 'single' ? quoted : `'${quoted}'`
}

function valueAt(values: JsonObject, path: string): unknown {
  let at: unknown = values
  for (const key of path.split('.')) {
    if (Array.isArray(at)) at = /^\d{1,6}$/.test(key) ? at[Number(key)] : undefined
    else at = isObject(at) && Object.hasOwn(at, key) ? at[key] : undefined
  }
  return at
}
