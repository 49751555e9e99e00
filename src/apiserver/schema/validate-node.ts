// A schema prepared for validation: keywords read once, patterns compiled, names in maps (so that `__proto__` is a name like any other).
import { isObject } from '#lib/json.ts'
import { compileRegex, RegexError, type Regex } from '#lib/regex.ts'
import type { FieldError } from './field-error.ts'
import { effectiveFormat, stringFormat } from './formats.ts'
import type { Schema } from '#api/schema/schema.ts'

/** Visits the parts of a value whose nodes are relevant, and adds what it finds to `out`. */
export type PartialWalk = (
  node: SchemaNode,
  value: unknown,
  path: string,
  relevant: ReadonlySet<SchemaNode>,
  out: FieldError[],
) => void

export interface SchemaNode {
  /** Empty: any type. int-or-string has two. */
  types: readonly string[]
  nullable: boolean
  format: string
  formatCheck: ((text: string) => boolean) | undefined
  enum: readonly unknown[] | undefined
  multipleOf: number | undefined
  minimum: number | undefined
  maximum: number | undefined
  exclusiveMinimum: boolean
  exclusiveMaximum: boolean
  minLength: number | undefined
  maxLength: number | undefined
  pattern: Pattern | undefined
  minItems: number | undefined
  maxItems: number | undefined
  uniqueItems: boolean
  minProperties: number | undefined
  maxProperties: number | undefined
  properties: ReadonlyMap<string, SchemaNode>
  required: readonly string[]
  /** 'none': other names are forbidden; undefined: other names are not checked. */
  additional: SchemaNode | 'none' | undefined
  items: SchemaNode | undefined
  allOf: readonly SchemaNode[]
  anyOf: readonly SchemaNode[]
  oneOf: readonly SchemaNode[]
  not: SchemaNode | undefined
  listType: 'set' | 'map' | undefined
  listMapKeys: readonly string[]
  embedded: boolean
}

interface Pattern {
  readonly source: string
  /** undefined: the pattern is bad, nothing matches; `problem` says why. */
  readonly regex: Regex | undefined
  readonly problem: string
}

/** `typed`: a value of int-or-string must be one of the two. `open`: only its anyOf says so, as for defaults in a CRD. */
export type IntOrString = 'typed' | 'open'

const EMPTY_NODE: SchemaNode = {
  types: [],
  nullable: false,
  format: '',
  formatCheck: undefined,
  enum: undefined,
  multipleOf: undefined,
  minimum: undefined,
  maximum: undefined,
  exclusiveMinimum: false,
  exclusiveMaximum: false,
  minLength: undefined,
  maxLength: undefined,
  pattern: undefined,
  minItems: undefined,
  maxItems: undefined,
  uniqueItems: false,
  minProperties: undefined,
  maxProperties: undefined,
  properties: new Map(),
  required: [],
  additional: undefined,
  items: undefined,
  allOf: [],
  anyOf: [],
  oneOf: [],
  not: undefined,
  listType: undefined,
  listMapKeys: [],
  embedded: false,
}

/** Total over any JSON: a keyword of the wrong shape is as if absent. A schema object met twice gives one node, so cycles end. */
export function prepareSchema(schema: Schema, intOrString: IntOrString = 'typed'): SchemaNode {
  const known = new Map<object, SchemaNode>()
  const prepare = (s: unknown): SchemaNode | undefined => {
    if (!isObject(s)) return undefined
    const seen = known.get(s)
    if (seen) return seen
    const node: SchemaNode = { ...EMPTY_NODE }
    known.set(s, node)
    readValueKeywords(node, s, intOrString)
    readNestedKeywords(node, s, prepare)
    return node
  }
  return prepare(schema) ?? { ...EMPTY_NODE }
}

function readValueKeywords(node: SchemaNode, s: Readonly<Record<string, unknown>>, intOrString: IntOrString): void {
  node.types = typesOf(s, intOrString)
  node.nullable = s['nullable'] === true
  if (typeof s['format'] === 'string') {
    const typed = node.types.length === 1 ? node.types[0] : undefined
    node.format = effectiveFormat(typed, s['format'])
    node.formatCheck = stringFormat(node.format)
  }
  if (Array.isArray(s['enum']) && s['enum'].length > 0) node.enum = s['enum']
  node.multipleOf = numeric(s['multipleOf'])
  node.minimum = numeric(s['minimum'])
  node.maximum = numeric(s['maximum'])
  node.exclusiveMinimum = s['exclusiveMinimum'] === true
  node.exclusiveMaximum = s['exclusiveMaximum'] === true
  node.minLength = numeric(s['minLength'])
  node.maxLength = numeric(s['maxLength'])
  node.pattern = patternOf(s['pattern'])
  node.minItems = numeric(s['minItems'])
  node.maxItems = numeric(s['maxItems'])
  node.uniqueItems = s['uniqueItems'] === true
  node.minProperties = numeric(s['minProperties'])
  node.maxProperties = numeric(s['maxProperties'])
  node.required = strings(s['required'])
  const listType = s['x-kubernetes-list-type']
  if (listType === 'set' || listType === 'map') node.listType = listType
  node.listMapKeys = strings(s['x-kubernetes-list-map-keys'])
  node.embedded = s['x-kubernetes-embedded-resource'] === true
}

function readNestedKeywords(
  node: SchemaNode,
  s: Readonly<Record<string, unknown>>,
  prepare: (s: unknown) => SchemaNode | undefined,
): void {
  const several = (list: unknown): readonly SchemaNode[] =>
    Array.isArray(list) ? list.map(prepare).filter((n) => n !== undefined) : []
  node.properties = preparedProperties(s['properties'], prepare)
  node.additional = s['additionalProperties'] === false ? 'none' : prepare(s['additionalProperties'])
  node.items = prepare(s['items'])
  node.allOf = several(s['allOf'])
  node.anyOf = several(s['anyOf'])
  node.oneOf = several(s['oneOf'])
  node.not = prepare(s['not'])
}

/** Sorted by name, so that the order of problems does not depend on the author of the schema or the value. */
function preparedProperties(
  properties: unknown,
  prepare: (s: unknown) => SchemaNode | undefined,
): ReadonlyMap<string, SchemaNode> {
  const out = new Map<string, SchemaNode>()
  if (!isObject(properties)) return out
  for (const name of Object.keys(properties).toSorted()) {
    const node = prepare(properties[name])
    if (node) out.set(name, node)
  }
  return out
}

function typesOf(s: Readonly<Record<string, unknown>>, intOrString: IntOrString): readonly string[] {
  if (s['x-kubernetes-int-or-string'] === true && intOrString === 'typed') return ['integer', 'string']
  return typeof s['type'] === 'string' && s['type'] !== '' ? [s['type']] : []
}

function patternOf(pattern: unknown): Pattern | undefined {
  if (typeof pattern !== 'string' || pattern === '') return undefined
  try {
    return { source: pattern, regex: compileRegex(pattern), problem: '' }
  } catch (e) {
    if (e instanceof RegexError) return { source: pattern, regex: undefined, problem: e.reason }
    throw e
  }
}

const numeric = (v: unknown): number | undefined =>
  typeof v === 'number' || typeof v === 'bigint' ? Number(v) : undefined

const strings = (v: unknown): readonly string[] =>
  Array.isArray(v) ? v.filter((x): x is string => typeof x === 'string') : []
