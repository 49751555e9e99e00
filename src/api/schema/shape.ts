// Whether a value has a schema's types, so that code may treat it as typed. Ignores limits, formats and a newer version's names. Pure.
import { isObject } from '#lib/json.ts'
import type { Schema } from './schema.ts'

/** Every object's metadata, as far as code reads it. */
const METADATA: Schema = {
  type: 'object',
  properties: {
    name: { type: 'string' },
    namespace: { type: 'string' },
    uid: { type: 'string' },
    resourceVersion: { type: 'string' },
    creationTimestamp: { type: 'string' },
    deletionTimestamp: { type: 'string' },
    labels: { type: 'object', additionalProperties: { type: 'string' } },
    annotations: { type: 'object', additionalProperties: { type: 'string' } },
    finalizers: { type: 'array', items: { type: 'string' } },
    ownerReferences: { type: 'array', items: { type: 'object' } },
  },
}

/** Of a whole object, from the schema of its kind. */
export const objectShape = (schema: Schema): Schema => ({
  ...schema,
  properties: { metadata: METADATA, ...schema.properties },
  required: ['metadata', ...(schema.required ?? [])],
})

/** The first part of an object with the wrong type, as `spec.node must be an object`; undefined if there is none. */
export const objectShapeProblem = (schema: Schema, object: unknown): string | undefined =>
  shapeProblem(objectShape(schema), object)

const IS: Readonly<Record<NonNullable<Schema['type']>, (value: unknown) => boolean>> = {
  object: isObject,
  array: Array.isArray,
  string: (value) => typeof value === 'string',
  integer: (value) => typeof value === 'number',
  number: (value) => typeof value === 'number',
  boolean: (value) => typeof value === 'boolean',
}

const TYPE_NAMES: Readonly<Record<NonNullable<Schema['type']>, string>> = {
  object: 'an object',
  array: 'a list',
  string: 'a text',
  integer: 'a number',
  number: 'a number',
  boolean: 'true or false',
}

/** As `objectShapeProblem`, of any value. */
export function shapeProblem(schema: Schema, value: unknown, path = ''): string | undefined {
  const { type, nullable = false } = schema
  if (value === null && nullable) return undefined
  if (type !== undefined && !IS[type](value)) return `${path === '' ? 'it' : path} must be ${TYPE_NAMES[type]}`
  if (Array.isArray(value)) return schema.items === undefined ? undefined : listProblem(schema.items, value, path)
  return isObject(value) ? fieldProblem(schema, value, path) : undefined
}

function listProblem(items: Schema, value: readonly unknown[], path: string): string | undefined {
  for (const [i, item] of value.entries()) {
    const problem = shapeProblem(items, item, `${path}[${i}]`)
    if (problem !== undefined) return problem
  }
  return undefined
}

function fieldProblem(
  { properties = {}, required = [], additionalProperties }: Schema,
  value: Readonly<Record<string, unknown>>,
  path: string,
): string | undefined {
  const named = (name: string): string => (path === '' ? name : `${path}.${name}`)
  const missing = required.find((name) => !Object.hasOwn(value, name))
  if (missing !== undefined) return `${named(missing)} is missing`
  for (const [name, of] of Object.entries(properties)) {
    if (!Object.hasOwn(value, name) || value[name] === undefined) continue
    const problem = shapeProblem(of, value[name], named(name))
    if (problem !== undefined) return problem
  }
  if (!isObject(additionalProperties)) return undefined
  for (const [name, field] of Object.entries(value)) {
    if (Object.hasOwn(properties, name)) continue
    const problem = shapeProblem(additionalProperties, field, named(name))
    if (problem !== undefined) return problem
  }
  return undefined
}
