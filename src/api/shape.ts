// Whether a value fits a schema from `ajvSchemaOf`: yes or no, without ajv, which takes longer to compile one kind than most programs need to check all of
// their objects. Only a yes is final; ajv explains a no.
import type { SchemaObject } from 'ajv'
import { canonicalJson, isObject, jsonEqual } from '#lib/json.ts'
import { duplicateIndex, isDateTime, type ListMap } from './ajv-schema.ts'

export type ShapeCheck = (value: unknown) => boolean

type Fields = Readonly<Record<string, unknown>>

/** An unlisted keyword makes its schema unusable instead of being ignored. */
export function shapeOf(schema: SchemaObject): ShapeCheck {
  const checks = Object.entries(schema).flatMap(([keyword, wanted]) => checkOf(keyword, wanted, schema))
  return (value) => checks.every((holds) => holds(value))
}

function checkOf(keyword: string, wanted: unknown, schema: SchemaObject): readonly ShapeCheck[] {
  const number = wanted as number
  switch (keyword) {
    case 'type':
      return [typeCheck([wanted].flat() as readonly string[])]
    case 'enum':
      return [(value) => (wanted as readonly unknown[]).some((one) => one === value || jsonEqual(one, value))]
    case 'pattern':
      return [ofText(matcher(wanted as string))]
    case 'minLength':
      return [ofText((text) => text.length >= number && (text.length >= 2 * number || charsOf(text) >= number))]
    case 'maxLength':
      return [ofText((text) => text.length <= number || charsOf(text) <= number)]
    case 'format':
      return [ofText(isDateTime)]
    case 'minimum':
      return [(value) => typeof value !== 'number' || value >= number]
    case 'maximum':
      return [(value) => typeof value !== 'number' || value <= number]
    case 'required':
      return [ofObject((value) => (wanted as readonly string[]).every((name) => value[name] !== undefined))]
    case 'minProperties':
      return [ofObject((value) => Object.keys(value).length >= number)]
    case 'maxProperties':
      return [ofObject((value) => Object.keys(value).length <= number)]
    case 'properties':
      return [fieldsCheck(wanted as Readonly<Record<string, SchemaObject>>, schema['additionalProperties'])]
    case 'additionalProperties':
      return schema['properties'] === undefined ? [fieldsCheck({}, wanted)] : []
    case 'items':
      return [itemsCheck(shapeOf(wanted as SchemaObject))]
    case 'minItems':
      return [ofList((list) => list.length >= number)]
    case 'maxItems':
      return [ofList((list) => list.length <= number)]
    case 'uniqueItems':
      return [ofList((list) => new Set(list.map((item) => canonicalJson(item))).size === list.length)]
    case 'listMapKeys':
      return [ofList((list) => duplicateIndex(wanted as ListMap, list) === -1)]
    case 'expected':
      return []
    default:
      throw new Error(`a shape with ${keyword} cannot be checked`)
  }
}

const ofText =
  (holds: (text: string) => boolean): ShapeCheck =>
  (value) =>
    typeof value !== 'string' || holds(value)
const ofList =
  (holds: (list: readonly unknown[]) => boolean): ShapeCheck =>
  (value) =>
    !Array.isArray(value) || holds(value)
const ofObject =
  (holds: (value: Fields) => boolean): ShapeCheck =>
  (value) =>
    !isObject(value) || holds(value)

const charsOf = (text: string): number => [...text].length

function matcher(pattern: string): (text: string) => boolean {
  const regex = new RegExp(pattern, 'u')
  return (text) => regex.test(text)
}

function typeCheck(types: readonly string[]): ShapeCheck {
  const checks = types.map(isOfType)
  return (value) => checks.some((holds) => holds(value))
}

function isOfType(type: string): ShapeCheck {
  switch (type) {
    case 'object':
      return isObject
    case 'array':
      return Array.isArray
    case 'integer':
      return Number.isInteger
    case 'number':
      return Number.isFinite
    default:
      return (value) => typeof value === type
  }
}

const itemsCheck = (holds: ShapeCheck): ShapeCheck => ofList((list) => list.every((item) => holds(item)))

/** `others`: the schema for unknown fields; without it they may be anything. */
function fieldsCheck(properties: Readonly<Record<string, SchemaObject>>, others: unknown): ShapeCheck {
  const known = new Map(Object.entries(properties).map(([name, schema]) => [name, shapeOf(schema)]))
  const other = others === false ? () => false : isObject(others) ? shapeOf(others) : undefined
  return ofObject((value) => {
    for (const name of Object.keys(value)) {
      const holds = known.get(name) ?? other
      // As in ajv: a known undefined field is absent, an unknown one is present.
      if (holds !== undefined && (value[name] !== undefined || !known.has(name)) && !holds(value[name])) return false
    }
    return true
  })
}
