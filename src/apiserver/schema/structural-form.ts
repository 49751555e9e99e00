// The form that makes a schema structural: every field has a type outside of allOf, anyOf, oneOf and not; inside of them stand constraints only.
import type { Effort } from '#lib/effort.ts'
import { isObject, jsonEqual } from '#lib/json.ts'
import { regexProblem } from '#lib/regex.ts'
import { childPath, fieldErrorLine, forbidden, invalid, keyPath, required, type FieldError } from './field-error.ts'
import {
  flag,
  isSet,
  nested,
  nestedList,
  own,
  properties,
  property,
  text,
  X_EMBEDDED,
  X_INT_OR_STRING,
  X_LIST_MAP_KEYS,
  X_LIST_TYPE,
  X_MAP_TYPE,
  X_PRESERVE,
  X_VALIDATIONS,
  type Raw,
} from './structural-raw.ts'

type Level = 'root' | 'item' | 'field'

/** Sorted by their text, as the server does. */
export function formProblems(schema: Raw, path: string, effort: Effort): readonly FieldError[] {
  const out: FieldError[] = []
  checkForm(schema, 'root', path, { out, effort })
  missingCounterparts(schema, path, out)
  return out.toSorted((a, b) => (fieldErrorLine(a) < fieldErrorLine(b) ? -1 : 1))
}

interface Found {
  readonly out: FieldError[]
  /** Pays for patterns. */
  readonly effort: Effort
}

function checkForm(s: Raw, level: Level, path: string, found: Found): void {
  const items = nested(s, 'items')
  if (text(s, 'type') === 'array' && !items) found.out.push(required(childPath(path, 'items'), 'must be specified'))
  if (items) checkForm(items, 'item', childPath(path, 'items'), found)
  for (const [name, sub] of properties(s)) checkForm(sub, 'field', keyPath(childPath(path, 'properties'), name), found)
  checkAdditional(s, level, path, found)
  checkExtensions(s, path, found)
  checkConstraints(s, path, found, { skipAnyOf: isIntOrStringAnyOf(s), skipInFirstAllOf: startsWithIntOrString(s) })
  checkType(s, level, path, found)
  checkMetaFields(s, level, path, found)
  if (flag(s, X_EMBEDDED) && !flag(s, X_PRESERVE) && properties(s).length === 0)
    found.out.push(
      required(childPath(path, 'properties'), `must not be empty if ${X_EMBEDDED} is true without ${X_PRESERVE}`),
    )
}

function checkAdditional(s: Raw, level: Level, path: string, found: Found): void {
  if (!isSet(s, 'additionalProperties')) return
  const field = childPath(path, 'additionalProperties')
  if (level === 'root') found.out.push(forbidden(field, 'must not be used at the root'))
  const sub = nested(s, 'additionalProperties')
  if (sub) checkForm(sub, 'field', field, found)
  if (flag(s, X_EMBEDDED)) found.out.push(forbidden(field, `must not be used if ${X_EMBEDDED} is set`))
}

function checkExtensions(s: Raw, path: string, found: Found): void {
  if (!flag(s, X_INT_OR_STRING)) return
  for (const key of [X_PRESERVE, X_EMBEDDED])
    if (flag(s, key)) found.out.push(invalid(childPath(path, key), true, `must be false if ${X_INT_OR_STRING} is true`))
}

const UNTYPED: Readonly<Record<Level, string>> = {
  root: 'must not be empty at the root',
  item: 'must not be empty for specified array items',
  field: 'must not be empty for specified object fields',
}

function checkType(s: Raw, level: Level, path: string, found: Found): void {
  const type = text(s, 'type')
  const field = childPath(path, 'type')
  if (flag(s, X_EMBEDDED) && type !== 'object') {
    const detail = `must be object if ${X_EMBEDDED} is true`
    found.out.push(type === '' ? required(field, detail) : invalid(field, type, detail))
  } else if (type === '' && !flag(s, X_INT_OR_STRING) && !flag(s, X_PRESERVE))
    found.out.push(required(field, UNTYPED[level]))
  if (level === 'root' && type !== '' && type !== 'object')
    found.out.push(invalid(field, type, 'must be object at the root'))
}

/** apiVersion, kind and metadata belong to the server: a schema may not bend their types, nor restrict more than names. */
function checkMetaFields(s: Raw, level: Level, path: string, found: Found): void {
  const isObjectRoot = level === 'root' || flag(s, X_EMBEDDED)
  const at = (name: string) => keyPath(childPath(path, 'properties'), name)
  for (const name of ['kind', 'apiVersion']) {
    const sub = property(s, name)
    if (isObjectRoot && sub && text(sub, 'type') !== 'string')
      found.out.push(invalid(childPath(at(name), 'type'), text(sub, 'type'), 'must be string'))
  }
  const metadata = property(s, 'metadata')
  if (!metadata) return
  if (isObjectRoot && text(metadata, 'type') !== 'object')
    found.out.push(invalid(childPath(at('metadata'), 'type'), text(metadata, 'type'), 'must be object'))
  if (level === 'root' && !restrictsNamesOnly(metadata))
    found.out.push(
      forbidden(
        at('metadata'),
        'must not specify anything other than name and generateName, but metadata is implicitly specified',
      ),
    )
}

const NAME_FIELDS: ReadonlySet<string> = new Set(['name', 'generateName'])

const restrictsNamesOnly = (metadata: Raw): boolean =>
  Object.keys(metadata).every(
    (k) => k === 'type' || k === 'default' || k === 'properties' || !isMeaningful(metadata[k]),
  ) && properties(metadata).every(([name]) => NAME_FIELDS.has(name))

/** What Go's zero values are not. */
const isMeaningful = (v: unknown): boolean => v !== undefined && v !== null && v !== false && v !== ''

interface Skips {
  readonly skipAnyOf?: boolean
  readonly skipInFirstAllOf?: boolean
}

function checkConstraints(s: Raw, path: string, found: Found, { skipAnyOf, skipInFirstAllOf }: Skips = {}): void {
  const each = (key: string, skips: (i: number) => Skips = () => ({})) =>
    nestedList(s, key).forEach((sub, i) => checkNested(sub, keyPath(childPath(path, key), i), found, skips(i)))
  if (skipAnyOf !== true) each('anyOf')
  each('allOf', (i) => ({ skipAnyOf: skipInFirstAllOf === true && i === 0 }))
  each('oneOf')
  const not = nested(s, 'not')
  if (not) checkNested(not, childPath(path, 'not'), found)
  const pattern = text(s, 'pattern')
  const problem = pattern === '' ? undefined : regexProblem(pattern, { effort: found.effort })
  if (problem !== undefined)
    found.out.push(
      invalid(childPath(path, 'pattern'), pattern, `must be a valid regular expression, but isn't: ${problem}`),
    )
}

/** What a constraint may not say, with the word the server has for its absence. */
const FORBIDDEN_INSIDE: readonly (readonly [string, string])[] = [
  ['type', 'empty'],
  ['additionalProperties', 'undefined'],
  ['default', 'undefined'],
  ['title', 'empty'],
  ['description', 'empty'],
  ['nullable', 'false'],
  [X_PRESERVE, 'false'],
  [X_EMBEDDED, 'false'],
  [X_INT_OR_STRING, 'false'],
  [X_LIST_MAP_KEYS, 'empty'],
  [X_LIST_TYPE, 'undefined'],
  [X_MAP_TYPE, 'undefined'],
  [X_VALIDATIONS, 'empty'],
]

function checkNested(s: Raw, path: string, found: Found, skips: Skips = {}): void {
  checkConstraints(s, path, found, skips)
  const items = nested(s, 'items')
  if (items) checkNested(items, childPath(path, 'items'), found)
  for (const [name, sub] of properties(s)) checkNested(sub, keyPath(childPath(path, 'properties'), name), found)
  for (const [key, absence] of FORBIDDEN_INSIDE)
    if (says(s, key)) found.out.push(forbidden(childPath(path, key), `must be ${absence} to be structural`))
  if (property(s, 'metadata'))
    found.out.push(
      forbidden(keyPath(childPath(path, 'properties'), 'metadata'), 'must not be specified in a nested context'),
    )
}

function says(s: Raw, key: string): boolean {
  const v = own(s, key)
  return Array.isArray(v) ? v.length > 0 : isMeaningful(v) || (key === 'default' && isSet(s, key))
}

const INT_OR_STRING_ANY_OF = [{ type: 'integer' }, { type: 'string' }]

const isIntOrStringAnyOf = (s: Raw): boolean => jsonEqual(own(s, 'anyOf'), INT_OR_STRING_ANY_OF)

const startsWithIntOrString = (s: Raw): boolean => {
  const first = nestedList(s, 'allOf')[0]
  return isObject(first) && isIntOrStringAnyOf(first)
}

/** Every field and list that a constraint at the root speaks of must be declared outside of constraints too (deeper ones the server lets pass). */
function missingCounterparts(schema: Raw, path: string, out: FieldError[]): void {
  combined(schema, schema, path, path, out)
}

/** `s` is where the constraint `v` must find its fields; both with their paths. */
function combined(v: Raw, s: Raw, sPath: string, vPath: string, out: FieldError[]): void {
  const not = nested(v, 'not')
  if (not) constrained(not, s, sPath, childPath(vPath, 'not'), out)
  for (const key of ['allOf', 'anyOf', 'oneOf'])
    nestedList(v, key).forEach((sub, i) => constrained(sub, s, sPath, keyPath(childPath(vPath, key), i), out))
}

function constrained(v: Raw, s: Raw | undefined, sPath: string, vPath: string, out: FieldError[]): void {
  if (!s) {
    out.push(required(sPath, `because it is defined in ${vPath}`))
    return
  }
  combined(v, s, sPath, vPath, out)
  const items = nested(v, 'items')
  if (items) constrained(items, nested(s, 'items'), childPath(sPath, 'items'), childPath(vPath, 'items'), out)
  for (const [name, sub] of properties(v)) {
    const at = (path: string) => keyPath(childPath(path, 'properties'), name)
    constrained(sub, property(s, name), at(sPath), at(vPath), out)
  }
}
