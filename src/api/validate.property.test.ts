// Compares KubeNode's validator with an interpreter of the CRD's schema and rules: it refuses everything a server refuses; and a server refuses everything it
// refuses for its shape. Except unknown fields and nulls: servers drop them, the validator reports them.
import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import { assertNever } from '#lib/errors.ts'
import type { Json } from '#lib/json.ts'
import { compileSchemaRules } from '#apiserver/schema/cel/rules.ts'
import { validateRules } from '#apiserver/schema/cel/run-rules.ts'
import { applyDefaults } from './schema/default.ts'
import { prune } from './schema/prune.ts'
import type { Schema } from './schema/schema.ts'
import { createValidator as createSchemaValidator } from '#apiserver/schema/validate.ts'
import { ajvSchemaOf, createAjv } from './ajv-schema.ts'
import { crdOf } from './crd.ts'
import { API_GROUP_VERSION, type ApiKind } from './kind.ts'
import { KINDS } from './kinds.ts'
import { PROBLEM_CODES } from './problem.ts'
import { shapeOf } from './shape.ts'
import { createValidator, objectSchema } from './validate.ts'

const JUNK: readonly Json[] = [
  '',
  'x',
  '%',
  '7%',
  '5m',
  -1,
  0,
  1.5,
  2 ** 40,
  true,
  [],
  ['x', 'x'],
  {},
  { x: 1 },
  'y'.repeat(300),
]

const made = new Map<Schema, fc.Arbitrary<unknown>>()

/** Values that mostly fit the schema, with an occasional one that does not. */
function valueOf(schema: Schema): fc.Arbitrary<unknown> {
  const known = made.get(schema)
  if (known !== undefined) return known
  // A server accepts some lists as times; clients should not rely on it.
  const junk = schema.format === 'date-time' ? JUNK.filter((j) => typeof j === 'string') : JUNK
  const value = fc.oneof({ weight: 60, arbitrary: fitting(schema) }, { weight: 1, arbitrary: fc.constantFrom(...junk) })
  made.set(schema, value)
  return value
}

function fitting(schema: Schema): fc.Arbitrary<unknown> {
  if (schema.enum !== undefined) return fc.constantFrom(...schema.enum)
  if (schema['x-kubernetes-int-or-string'] === true)
    return fc.oneof(
      fc.integer({ min: schema.minimum ?? 0, max: schema.maximum ?? 9 }),
      fc.constantFrom('0%', '50%', '100%', '101%'),
    )
  switch (schema.type) {
    case 'string':
      return text(schema)
    case 'integer':
      return fc.oneof(
        fc.integer({ min: schema.minimum ?? 0, max: Math.min(schema.maximum ?? 9, 2 ** 31) }),
        fc.constant(schema.maximum),
      )
    case 'boolean':
      return fc.boolean()
    case 'array':
      return fc.array(valueOf(schema.items ?? {}), { minLength: Math.min(schema.minItems ?? 0, 3), maxLength: 3 })
    case 'object':
      return object(schema)
    case 'number':
    case undefined:
      return fc.constantFrom(...JUNK)
    default:
      return assertNever(schema.type)
  }
}

function text(schema: Schema): fc.Arbitrary<string> {
  if (schema.format === 'date-time')
    return fc.constantFrom('2026-01-31T12:00:00Z', '2026-01-31T12:00:01.5+01:00', '2025-12-01T00:00:00Z')
  const { minLength = 0, maxLength = 0 } = schema
  if (schema.pattern === undefined)
    return fc.string({ minLength, maxLength: Math.max(minLength, Math.min(maxLength, 8)) })
  // A few texts per pattern, generated once: doing it for every object would take most of the time.
  const texts = fc.sample(fc.stringMatching(new RegExp(schema.pattern), { size: 'small' }), { numRuns: 6, seed: 1 })
  return fc.constantFrom(...texts.map((t) => t.slice(0, maxLength)))
}

function object(schema: Schema): fc.Arbitrary<unknown> {
  if (schema.properties === undefined)
    return typeof schema.additionalProperties === 'object'
      ? fc.dictionary(fc.constantFrom('a', 'b/c', 'd'), valueOf(schema.additionalProperties), { maxKeys: 2 })
      : fc.constantFrom({}, { all: [{ fact: 'x', operator: 'y', value: 1 }] })
  const required = schema.required ?? []
  const model = Object.fromEntries(Object.entries(schema.properties).map(([k, s]) => [k, valueOf(s)]))
  return fc.record(model, { requiredKeys: required.filter((k) => Object.hasOwn(model, k)) })
}

const crdSchema = (kind: ApiKind): Schema => crdOf(kind).spec.versions[0]?.schema.openAPIV3Schema ?? {}

const messages = (schema: Schema): readonly string[] => [
  ...(schema['x-kubernetes-validations'] ?? []).map((r) => r.message ?? ''),
  ...Object.values(schema.properties ?? {}).flatMap(messages),
  ...(schema.items === undefined ? [] : messages(schema.items)),
]

const SHAPE_CODES: readonly string[] = [
  PROBLEM_CODES.missing,
  PROBLEM_CODES.wrongType,
  PROBLEM_CODES.bound,
  PROBLEM_CODES.form,
  PROBLEM_CODES.duplicate,
]

const validator = createValidator()

describe.each(KINDS.map((k) => [k.kind, k] as const))('%s', (_, kind) => {
  const schema = crdSchema(kind)
  const server = createSchemaValidator(schema)
  const { tree } = compileSchemaRules(schema)
  const known = new Set(messages(schema))

  test('has a quick answer about its shape that is the one of ajv', () => {
    const whole = ajvSchemaOf(objectSchema(kind))
    const [fits, validate] = [shapeOf(whole), createAjv().compile(whole)]
    fc.assert(
      fc.property(object({ ...schema, required: ['spec'] }), fc.constantFrom(...JUNK), (parts, junk) => {
        const named = { apiVersion: API_GROUP_VERSION, kind: kind.kind, metadata: { name: 'x' }, ...(parts as object) }
        for (const value of [named, { ...named, unknown: junk }, { ...named, metadata: junk }])
          expect(fits(value)).toBe(validate(value))
      }),
      { numRuns: 40 },
    )
  })

  test('is judged by us as by a server', () => {
    fc.assert(
      fc.property(object({ ...schema, required: ['spec'] }), (parts) => {
        const name = kind.example.metadata.name ?? 'x'
        const whole = {
          apiVersion: API_GROUP_VERSION,
          kind: kind.kind,
          metadata: { name, namespace: 'x' },
          ...(parts as object),
        }
        const metadata = kind.namespaced ? whole.metadata : { name }
        const ours = validator.problems(kind, { ...whole, metadata })
        const stored = applyDefaults(schema, prune(schema, { ...whole, metadata }).value)
        const refused = server.validate(stored)
        const shape = ours.filter((p) => SHAPE_CODES.includes(p.code))
        if (refused.length > 0) expect(ours, JSON.stringify(refused)).not.toEqual([])
        if (shape.length > 0 && shape.length < 100) expect(refused, JSON.stringify(shape)).not.toEqual([])
        if (shape.length > 0) return
        const broken = validateRules(tree, stored, undefined).errors.map((e) => e.detail)
        const reported = ours.map((p) => p.message).filter((m) => known.has(m))
        expect(new Set(reported)).toEqual(new Set(broken.filter((m) => known.has(m))))
      }),
      { numRuns: 40 },
    )
  })
})
