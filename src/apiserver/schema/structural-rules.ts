// What the API server refuses keyword by keyword in the schema of a CRD, apart from its structural form and its CEL rules.
import { childPath, forbidden, invalid, keyPath, notSupported, required, type FieldError } from './field-error.ts'
import {
  flag,
  isSet,
  nested,
  nestedList,
  own,
  properties,
  property,
  text,
  texts,
  X_EMBEDDED,
  X_LIST_MAP_KEYS,
  X_LIST_TYPE,
  X_MAP_TYPE,
  X_PRESERVE,
  type Raw,
} from './structural-raw.ts'

interface Place {
  readonly path: string
  readonly isRoot: boolean
  /** Below apiVersion, kind or metadata of an object. */
  readonly insideMeta: boolean
  /** Why no default may stand here. */
  readonly noDefaults?: string
}

const META_FIELDS: ReadonlySet<string> = new Set(['apiVersion', 'kind', 'metadata'])

export function ruleProblems(schema: Raw, path: string): readonly FieldError[] {
  const out: FieldError[] = []
  checkRules(schema, { path, isRoot: true, insideMeta: false }, out)
  return out
}

function checkRules(s: Raw, place: Place, out: FieldError[]): void {
  const { path } = place
  checkKeywords(s, place, out)
  if (flag(s, 'uniqueItems'))
    out.push(
      forbidden(
        childPath(path, 'uniqueItems'),
        'uniqueItems cannot be set to true since the runtime complexity becomes quadratic',
      ),
    )
  checkAdditional(s, place, out)
  for (const [name, sub] of properties(s)) checkRules(sub, propertyPlace(s, place, name), out)
  const inner = { ...place, isRoot: false }
  const not = nested(s, 'not')
  if (not) checkRules(not, { ...inner, path: childPath(path, 'not') }, out)
  for (const key of ['allOf', 'oneOf', 'anyOf'])
    nestedList(s, key).forEach((sub, i) => checkRules(sub, { ...inner, path: keyPath(childPath(path, key), i) }, out))
  const items = nested(s, 'items')
  if (items) checkRules(items, { ...inner, path: childPath(path, 'items') }, out)
  nestedList(s, 'items').forEach((sub, i) =>
    checkRules(sub, { ...inner, path: keyPath(childPath(path, 'items'), i) }, out),
  )
  checkMapType(s, path, out)
  checkListType(s, path, out)
  if (text(s, X_LIST_TYPE) === 'map') checkListMap(s, path, out)
  checkListMembers(s, path, out)
}

function propertyPlace(s: Raw, { path, isRoot, insideMeta, noDefaults }: Place, name: string): Place {
  const isMeta = (isRoot || flag(s, X_EMBEDDED)) && META_FIELDS.has(name)
  const reason = isMeta && isRoot ? `in top-level ${name}` : noDefaults
  return {
    path: keyPath(childPath(path, 'properties'), name),
    isRoot: false,
    insideMeta: insideMeta || isMeta,
    ...(reason === undefined ? {} : { noDefaults: reason }),
  }
}

const TYPES: readonly string[] = ['array', 'boolean', 'integer', 'number', 'object', 'string']
const UNSUPPORTED = ['id', 'additionalItems', 'patternProperties', 'definitions', 'dependencies', '$ref'] as const

function checkKeywords(s: Raw, { path, insideMeta, noDefaults }: Place, out: FieldError[]): void {
  const type = text(s, 'type')
  if (type !== '' && !TYPES.includes(type)) out.push(notSupported(childPath(path, 'type'), type, TYPES))
  if (noDefaults !== undefined && isSet(s, 'default'))
    out.push(forbidden(childPath(path, 'default'), `must not be set ${noDefaults}`))
  for (const key of UNSUPPORTED)
    if (isSet(s, key) && own(s, key) !== '') out.push(forbidden(childPath(path, key), `${key} is not supported`))
  if (type === 'null')
    out.push(forbidden(childPath(path, 'type'), 'type cannot be set to null, use nullable as an alternative'))
  if (nestedList(s, 'items').length > 0)
    out.push(forbidden(childPath(path, 'items'), 'items must be a schema object and not an array'))
  if (insideMeta && flag(s, X_EMBEDDED))
    out.push(forbidden(childPath(path, X_EMBEDDED), 'must not be used inside of resource meta'))
}

function checkAdditional(s: Raw, place: Place, out: FieldError[]): void {
  if (!isSet(s, 'additionalProperties')) return
  const path = childPath(place.path, 'additionalProperties')
  if (properties(s).length > 0 && own(s, 'additionalProperties') !== true)
    out.push(forbidden(path, 'additionalProperties and properties are mutual exclusive'))
  const sub = nested(s, 'additionalProperties')
  const reason = place.insideMeta ? 'inside additionalProperties applying to object metadata' : place.noDefaults
  if (sub)
    checkRules(
      sub,
      { path, isRoot: false, insideMeta: place.insideMeta, ...(reason === undefined ? {} : { noDefaults: reason }) },
      out,
    )
}

function checkMapType(s: Raw, path: string, out: FieldError[]): void {
  if (own(s, X_PRESERVE) === false) out.push(invalid(childPath(path, X_PRESERVE), false, 'must be true or undefined'))
  if (!isSet(s, X_MAP_TYPE)) return
  checkTypeIs(s, 'object', X_MAP_TYPE, path, out)
  const mapType = text(s, X_MAP_TYPE)
  if (mapType !== 'atomic' && mapType !== 'granular')
    out.push(notSupported(childPath(path, X_MAP_TYPE), mapType, ['atomic', 'granular']))
}

function checkListType(s: Raw, path: string, out: FieldError[]): void {
  const listType = text(s, X_LIST_TYPE)
  const field = childPath(path, X_LIST_TYPE)
  if (isSet(s, X_LIST_TYPE)) {
    if (text(s, 'type') !== 'array') checkTypeIs(s, 'array', X_LIST_TYPE, path, out)
    else if (listType === 'set') checkSetItems(s, path, out)
    if (listType !== 'atomic' && listType !== 'set' && listType !== 'map')
      out.push(notSupported(field, listType, ['atomic', 'set', 'map']))
  }
  if (texts(s, X_LIST_MAP_KEYS).length === 0) return
  const detail = `must be map if ${X_LIST_MAP_KEYS} is non-empty`
  if (!isSet(s, X_LIST_TYPE)) out.push(required(field, detail))
  else if (listType !== 'map') out.push(invalid(field, listType, detail))
}

function checkTypeIs(s: Raw, wanted: string, because: string, path: string, out: FieldError[]): void {
  const type = text(s, 'type')
  if (type === wanted) return
  const detail = `must be ${wanted} if ${because} is specified`
  out.push(type === '' ? required(childPath(path, 'type'), detail) : invalid(childPath(path, 'type'), type, detail))
}

/** Members of a set are compared whole, so they may not be merged piece by piece. The value shown is the list type also for maps. */
function checkSetItems(s: Raw, path: string, out: FieldError[]): void {
  const items = nested(s, 'items')
  if (!items) return
  const shown = own(items, X_LIST_TYPE) ?? null
  const isPlainList = text(items, 'type') === 'array' && isSet(items, X_LIST_TYPE) && shown !== 'atomic'
  const isGranularMap = text(items, 'type') === 'object' && text(items, X_MAP_TYPE) !== 'atomic'
  if (!isPlainList && !isGranularMap) return
  const field = childPath(childPath(path, 'items'), isPlainList ? X_LIST_TYPE : X_MAP_TYPE)
  out.push(invalid(field, shown, `must be atomic as item of a list with ${X_LIST_TYPE}=set`))
}

function checkListMap(s: Raw, path: string, out: FieldError[]): void {
  const keys = texts(s, X_LIST_MAP_KEYS)
  const keysField = childPath(path, X_LIST_MAP_KEYS)
  const itemsField = childPath(path, 'items')
  if (keys.length === 0) out.push(required(keysField, `must not be empty if ${X_LIST_TYPE} is map`))
  const items = nested(s, 'items')
  if (!items) {
    if (!isSet(s, 'items')) out.push(required(itemsField, `must have a schema if ${X_LIST_TYPE} is map`))
    return
  }
  const itemType = text(items, 'type')
  if (itemType !== 'object') {
    const detail = `must be object if parent array's ${X_LIST_TYPE} is map`
    out.push(invalid(childPath(itemsField, 'type'), itemType, detail))
    return
  }
  keys.forEach((key, i) => {
    const sub = property(items, key)
    if (!sub) out.push(invalid(keysField, keys, 'entries must all be names of item properties'))
    else if (['array', 'object'].includes(text(sub, 'type')))
      out.push(
        invalid(
          childPath(keyPath(childPath(itemsField, 'properties'), key), 'type'),
          itemType,
          `must be a scalar type if parent array's ${X_LIST_TYPE} is map`,
        ),
      )
    if (keys.indexOf(key) < i) out.push(invalid(keysField, keys, 'must not contain duplicate entries'))
  })
}

/** Items of sets and maps must be there, and the keys of a map too. */
function checkListMembers(s: Raw, path: string, out: FieldError[]): void {
  const items = nested(s, 'items')
  const listType = text(s, X_LIST_TYPE)
  if (!items || (listType !== 'set' && listType !== 'map')) return
  const itemsField = childPath(path, 'items')
  if (flag(items, 'nullable'))
    out.push(forbidden(childPath(itemsField, 'nullable'), `cannot be nullable when ${X_LIST_TYPE} is ${listType}`))
  if (listType === 'set') return
  const needed = texts(items, 'required')
  for (const key of texts(s, X_LIST_MAP_KEYS)) {
    const sub = property(items, key)
    if (!sub) continue
    const field = keyPath(childPath(itemsField, 'properties'), key)
    const because = `this property is in ${X_LIST_MAP_KEYS}, so it`
    if (!needed.includes(key) && !isSet(sub, 'default'))
      out.push(required(childPath(field, 'default'), `${because} must have a default or be a required property`))
    if (flag(sub, 'nullable')) out.push(forbidden(childPath(field, 'nullable'), `${because} cannot be nullable`))
  }
}
