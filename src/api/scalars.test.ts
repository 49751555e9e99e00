// Every field of every kind that holds one value refuses values of other types, in our validator and in the definition that a server has.
import { describe, expect, test } from 'vitest'
import { createValidator } from '#apiserver/schema/validate.ts'
import type { Schema } from './schema/schema.ts'
import { ajvSchemaOf, createAjv } from './ajv-schema.ts'
import { crdOf } from './crd.ts'
import { KINDS } from './kinds.ts'

interface Scalar {
  readonly path: string
  readonly schema: Schema
}

function scalarsIn(schema: Schema, path = ''): readonly Scalar[] {
  const { properties = {}, items, additionalProperties, type } = schema
  const below = [
    ...Object.entries(properties).flatMap(([name, s]) => scalarsIn(s, `${path}.${name}`)),
    ...(items === undefined ? [] : scalarsIn(items, `${path}[]`)),
    ...(typeof additionalProperties === 'object' ? scalarsIn(additionalProperties, `${path}{}`) : []),
  ]
  const isScalar = schema['x-kubernetes-int-or-string'] === true || (type !== 'object' && type !== 'array')
  return isScalar ? [{ path, schema }] : below
}

const VALUES: readonly (readonly [types: readonly string[], value: unknown])[] = [
  [['array'], []],
  [['array'], ['2026-01-01T00:00:00Z']],
  [['array'], [{}]],
  [['object'], {}],
  [['object'], { a: '2026-01-01T00:00:00Z' }],
  [['integer', 'number'], 1],
  [['number'], 1.5],
  [['boolean'], true],
  [['string'], 'text'],
]

const typesOf = (schema: Schema): readonly string[] =>
  schema['x-kubernetes-int-or-string'] === true ? ['integer', 'string'] : [schema.type ?? 'none']

function wronglyTaken(kind: Schema, judge: (path: string, schema: Schema) => (value: unknown) => boolean) {
  return scalarsIn(kind).flatMap(({ path, schema }) => {
    const takes = judge(path, schema)
    const wrong = VALUES.filter(([types, value]) => !types.some((t) => typesOf(schema).includes(t)) && takes(value))
    return wrong.map(([, value]) => `${path} takes ${JSON.stringify(value)}`)
  })
}

describe.each(KINDS.map((k) => [k.kind, k] as const))('S24 %s', (_, kind) => {
  const [version] = crdOf(kind).spec.versions
  const inDefinition = scalarsIn(version?.schema.openAPIV3Schema ?? {})
  test('has every single value of the schema in its definition, each with a type', () => {
    expect(inDefinition.map(({ path }) => path)).toEqual(scalarsIn(kind.schema).map(({ path }) => path))
    expect(inDefinition.length).toBeGreaterThan(3)
    expect(inDefinition.filter(({ schema }) => typesOf(schema).includes('none'))).toEqual([])
  })

  test('takes no value of another type by the definition', () => {
    const served = new Map(inDefinition.map(({ path, schema }) => [path, createValidator(schema)]))
    expect(wronglyTaken(kind.schema, (path) => (value) => served.get(path)?.validate(value).length === 0)).toEqual([])
  })

  test('takes no value of another type by our validator', () => {
    const ajv = createAjv()
    expect(wronglyTaken(kind.schema, (_path, schema) => ajv.compile(ajvSchemaOf(schema)))).toEqual([])
  })
})
