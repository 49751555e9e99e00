// What expressions that change objects may use beside all others: objects to merge (`Object.spec{replicas: 3}`), operations of
// JSON patches (`JSONPatch{op: "add", …}`), and the JSON of such values.
import { setOwn } from '#lib/json.ts'
import type { CelLibrary } from './cel.ts'
import { fn, readsFirst } from './functions.ts'
import { FUNCTIONS } from './library.ts'
import { formatCelDuration, formatTimestamp } from './time.ts'
import { DYN, listOf, type ObjectField, objectOf, type ObjectType, STRING } from './types.ts'
import { CelDuration, CelList, CelMap, CelObject, CelTimestamp, CelUint, type CelValue } from './values.ts'

/** Without the schema of the object at hand any name is a field, and any value fits. */
class AnyField extends Map<string, ObjectField> {
  override get(name: string): ObjectField {
    return { name: unescaped(name), type: DYN }
  }
}

const UNESCAPES: Readonly<Record<string, string>> = {
  __underscores__: '__',
  __dot__: '.',
  __dash__: '-',
  __slash__: '/',
}

const unescaped = (name: string): string =>
  UNESCAPES[name] === undefined && /^__[a-z]+__$/.test(name)
    ? name.slice(2, -2)
    : name.replace(/__(?:underscores|dot|dash|slash)__/g, (part) => UNESCAPES[part] ?? part)

const ROOT = 'Object'
const PATCH = 'JSONPatch'

const field = (name: string, type: ObjectField['type']): [string, ObjectField] => [name, { name, type }]
const JSON_PATCH = objectOf(
  PATCH,
  new Map([field('op', STRING), field('path', STRING), field('from', STRING), field('value', DYN)]),
)

/** The required result of an expression in each kind of patch. */
export const APPLY_CONFIGURATION: ObjectType = objectOf(ROOT, new AnyField())
export const JSON_PATCHES = listOf(JSON_PATCH)

const escapeKey = fn(
  'jsonpatch.escapeKey',
  [STRING],
  STRING,
  (key: string) => key.replaceAll('~', '~0').replaceAll('/', '~1'),
  readsFirst(),
)

export const MUTATION_LIBRARY: CelLibrary = {
  functions: new Map([...FUNCTIONS, [escapeKey.name, [escapeKey]]]),
  messageTypes: (name) => {
    if (name === PATCH) return JSON_PATCH
    return name === ROOT || name.startsWith(`${ROOT}.`) ? objectOf(name, new AnyField()) : undefined
  },
}

export type AsJson = { readonly ok: true; readonly json: unknown } | { readonly ok: false; readonly error: string }

class NoJson extends Error {}

/** The JSON of a value; there is none for types, errors and values of libraries. */
export function celToJson(value: CelValue): AsJson {
  try {
    return { ok: true, json: jsonOf(value) }
  } catch (e) {
    if (e instanceof NoJson) return { ok: false, error: e.message }
    throw e
  }
}

function jsonOf(value: CelValue): unknown {
  if (value === null || typeof value === 'string' || typeof value === 'boolean' || typeof value === 'number')
    return value
  if (typeof value === 'bigint') return numberOf(value)
  if (value instanceof CelUint) return numberOf(value.value)
  if (value instanceof CelList) return value.toArray().map(jsonOf)
  if (value instanceof CelMap) return fieldsOf(value.keys(), (key) => value.get(key))
  if (value instanceof CelObject) return fieldsOf(Object.keys(value.data), (key) => value.get(key as string))
  if (value instanceof Uint8Array) return Buffer.from(value).toString('base64')
  if (value instanceof CelTimestamp) return formatTimestamp(value.nanos)
  if (value instanceof CelDuration) return formatCelDuration(value.nanos)
  throw new NoJson('a value of this type cannot be written as JSON')
}

function fieldsOf(keys: readonly CelValue[], at: (key: CelValue) => CelValue | undefined): Record<string, unknown> {
  const out: Record<string, unknown> = {}
  for (const key of keys) {
    if (typeof key !== 'string') throw new NoJson('the keys of a map must be strings')
    const value = at(key)
    if (value !== undefined) setOwn(out, key, jsonOf(value))
  }
  return out
}

const numberOf = (n: bigint): number | bigint => (Number.isSafeInteger(Number(n)) ? Number(n) : n)

/** Nested objects of the wrong type for their position: one sentence each. */
export function misplacedTypes(value: CelValue, path = ROOT): readonly string[] {
  if (value instanceof CelList) return value.toArray().flatMap((item) => misplacedTypes(item, path))
  if (value instanceof CelMap) return value.keys().flatMap((key) => misplacedTypes(value.get(key) ?? null, path))
  if (!(value instanceof CelObject)) return []
  const { name } = value.type
  const here =
    name === path
      ? []
      : [`unexpected type name "${name}", expected "${path}", which matches field name path from root Object type`]
  return [...here, ...Object.keys(value.data).flatMap((f) => misplacedTypes(value.get(f) ?? null, `${path}.${f}`))]
}
