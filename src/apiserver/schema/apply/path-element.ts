// The steps of field paths in FieldsV1: f:name, k:{"key":…}, v:value, i:index. Parsing, canonical form, order and display text.
import { goJson, goJsonString } from '#lib/go-format.ts'
import { isObject } from '#lib/json.ts'

export const valueElement = (value: unknown): string => `v:${goJson(value)}`

/** `keys` in the order of their names; those absent from the item are left out. Undefined when none is there. */
export function keyElement(item: Readonly<Record<string, unknown>>, keys: readonly string[]): string | undefined {
  const parts: string[] = []
  for (const key of keys) {
    const value = item[key]
    if (value !== undefined) parts.push(`${goJsonString(key)}:${goJson(value)}`)
  }
  return parts.length === 0 ? undefined : `k:{${parts.join(',')}}`
}

/** The canonical form of an element, or undefined for a kind that we do not know; throws on malformed JSON. */
export function canonicalElement(element: string): string | undefined {
  const body = element.slice(2)
  switch (element.slice(0, 2)) {
    case 'f:':
      return element
    case 'i:':
      return `i:${Number.parseInt(body, 10)}`
    case 'v:':
      return valueElement(parseExactly(body))
    case 'k:': {
      const key = parseExactly(body)
      if (!isObject(key)) throw new SyntaxError(`${element} is no key`)
      return `k:${goJson(key)}`
    }
    default:
      if (element[1] !== ':') throw new SyntaxError(`${element} has no kind`)
      return undefined
  }
}

/** Integers beyond 2^53 stay whole. */
function parseExactly(text: string): unknown {
  return JSON.parse(text, (_key, value: unknown, context?: { source?: string }) => {
    const source = context?.source
    return typeof value === 'number' && !Number.isSafeInteger(value) && /^-?\d+$/.test(source ?? '')
      ? BigInt(source ?? 0)
      : value
  })
}

const KIND_ORDER = 'fkvi'

/** The server's order: fields by name, keys, values, indices; numbers before strings before booleans. */
export function compareElements(a: string, b: string): number {
  if (a === b) return 0
  const kind = KIND_ORDER.indexOf(a[0] ?? '') - KIND_ORDER.indexOf(b[0] ?? '')
  if (kind !== 0) return kind
  if (a.startsWith('f:')) return a < b ? -1 : 1
  return compareJson(parseExactly(a.slice(2)), parseExactly(b.slice(2)))
}

const TYPE_ORDER = ['number', 'string', 'boolean', 'object']
const typeOf = (v: unknown): string => (typeof v === 'bigint' ? 'number' : typeof v)

function compareJson(a: unknown, b: unknown): number {
  const type = TYPE_ORDER.indexOf(typeOf(a)) - TYPE_ORDER.indexOf(typeOf(b))
  if (type !== 0) return type
  if (isObject(a) && isObject(b)) return compareKeys(a, b)
  return compareScalars(a as number, b as number)
}

const compareScalars = <T extends number | string>(a: T, b: T): number => (a < b ? -1 : a > b ? 1 : 0)

function compareKeys(a: Record<string, unknown>, b: Record<string, unknown>): number {
  const left = Object.keys(a).toSorted()
  const right = Object.keys(b).toSorted()
  for (const [i, name] of left.entries()) {
    const other = right[i]
    if (other === undefined) return 1
    const order = compareScalars(name, other) || compareJson(a[name], b[other])
    if (order !== 0) return order
  }
  return left.length - right.length
}

/** `.name`, `[key="value"]`, `[="value"]`, `[0]`: how conflicts and errors name a step. */
export function elementText(element: string): string {
  const body = element.slice(2)
  if (element.startsWith('f:')) return `.${body}`
  if (element.startsWith('i:')) return `[${body}]`
  const value = parseExactly(body)
  if (element.startsWith('v:') || !isObject(value)) return `[=${scalarText(value)}]`
  return `[${Object.keys(value)
    .map((name) => `${name}=${scalarText(value[name])}`)
    .join(',')}]`
}

const scalarText = (value: unknown): string => (typeof value === 'string' ? JSON.stringify(value) : String(value))
