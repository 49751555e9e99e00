// S24: what agents write is bounded in the definitions themselves, so that a real kube-apiserver refuses what is larger.
import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { expect, test } from 'vitest'
import { parse } from 'yaml'
import { ROOT } from './source-files.ts'

interface Schema {
  readonly type?: string
  readonly format?: string
  readonly enum?: readonly unknown[]
  readonly maxLength?: number
  readonly maxItems?: number
  readonly maxProperties?: number
  readonly properties?: Readonly<Record<string, Schema>>
  readonly items?: Schema
  readonly additionalProperties?: Schema
  readonly 'x-kubernetes-preserve-unknown-fields'?: boolean
}

interface Definition {
  readonly spec: { readonly versions: readonly { readonly schema: { readonly openAPIV3Schema: Schema } }[] }
}

/** A date is as long as a date is. */
const hasLength = ({ maxLength, enum: choices, format }: Schema): boolean =>
  maxLength !== undefined || choices !== undefined || format === 'date-time'

function unbounded(schema: Schema, path: string): readonly string[] {
  const { type, properties = {}, items, additionalProperties: values } = schema
  const own =
    schema['x-kubernetes-preserve-unknown-fields'] === true ||
    (type === 'string' && !hasLength(schema)) ||
    (type === 'array' && schema.maxItems === undefined) ||
    (values !== undefined && schema.maxProperties === undefined)
  return [
    ...(own ? [path] : []),
    ...Object.entries(properties).flatMap(([name, s]) => unbounded(s, `${path}.${name}`)),
    ...(items === undefined ? [] : unbounded(items, `${path}[]`)),
    ...(values === undefined ? [] : unbounded(values, `${path}{}`)),
  ]
}

test.each(['machines', 'remedyoperationjobs'])(
  'S24 each text, list and map in the status of %s has a bound',
  (plural) => {
    const definition = parse(readFileSync(join(ROOT, `deploy/crds/${plural}.yaml`), 'utf8')) as Definition
    const schemas = definition.spec.versions.map((v) => v.schema.openAPIV3Schema)
    expect(schemas.map((s) => s.properties?.['status']?.type)).toEqual(['object'])
    expect(schemas.flatMap((s) => unbounded(s.properties?.['status'] ?? {}, 'status'))).toEqual([])
  },
)

test('a field without a bound would be found', () => {
  const items: Schema = {
    type: 'object',
    properties: { a: { type: 'string' } },
    additionalProperties: { type: 'string' },
  }
  expect(unbounded({ type: 'array', items }, 's')).toEqual(['s', 's[]', 's[].a', 's[]{}'])
})
