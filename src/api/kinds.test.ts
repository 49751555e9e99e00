import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import { compileSchemaRules } from '#apiserver/schema/cel/rules.ts'
import { validateRules } from '#apiserver/schema/cel/run-rules.ts'
import { applyDefaults } from './schema/default.ts'
import { fieldErrorLine } from '#apiserver/schema/field-error.ts'
import type { Schema } from './schema/schema.ts'
import { objectShapeProblem } from './schema/shape.ts'
import { structuralProblems } from '#apiserver/schema/structural.ts'
import { validate } from '#apiserver/schema/validate.ts'
import { CONDITIONS } from './catalogue.ts'
import { crdOf } from './crd.ts'
import type { ApiKind } from './kind.ts'
import { KINDS } from './kinds.ts'
import { REJECTED, REJECTED_UPDATES, rejectedBase, rejectedObject } from '../../test/support/kinds/rejected.ts'
import { PROBLEM_CODES, formatProblem } from './problem.ts'
import { unservedFields } from './unserved.ts'
import { createValidator } from './validate.ts'

const validator = createValidator()

const crdSchema = (kind: ApiKind): Schema => {
  const [version] = crdOf(kind).spec.versions
  if (version === undefined) throw new Error('a CRD without a version')
  return version.schema.openAPIV3Schema
}

/** A server's findings: schema first, then rules. */
function serverFindings(kind: ApiKind, object: unknown, old?: unknown): readonly string[] {
  const schema = crdSchema(kind)
  const value = applyDefaults(schema, object)
  const { tree, problems } = compileSchemaRules(schema)
  const before = old === undefined ? undefined : applyDefaults(schema, old)
  return [...problems, ...validate(schema, value), ...validateRules(tree, value, before).errors].map(fieldErrorLine)
}

/** A kind of which nothing is served can only have an example of what it will be. */
function problemsOf(kind: ApiKind): readonly string[] {
  const isServed = unservedFields(kind).every(({ path }) => path.length > 1)
  const found = validator.problems(kind, kind.example)
  return found.filter((p) => isServed || p.code !== PROBLEM_CODES.unserved).map(formatProblem)
}

describe.each(KINDS.map((k) => [k.kind, k] as const))('%s', (_, kind) => {
  test('has an example in which our validator finds no problem', () => expect(problemsOf(kind)).toEqual([]))

  test('has a schema that a server accepts', () =>
    expect(
      structuralProblems(crdSchema(kind), 'schema', { statusSubresource: kind.definition.status !== undefined }).map(
        fieldErrorLine,
      ),
    ).toEqual([]))

  test('has an example that a server accepts', () => expect(serverFindings(kind, kind.example)).toEqual([]))

  test('lists its condition types in the catalogue', () =>
    expect((kind.definition.conditions ?? []).filter((c) => !Object.hasOwn(CONDITIONS, c))).toEqual([]))
})

test('names, plurals and short names are unique', () => {
  const names = KINDS.flatMap((k) => [k.plural, k.kind.toLowerCase(), k.shortName])
  expect(names.filter((n, i) => names.indexOf(n) !== i)).toEqual([])
})

describe('an object that breaks a rule', () => {
  test.each(REJECTED.map((r) => [r.kind.kind, r.message, r] as const))('%s: %s', (_, message, r) => {
    const object = rejectedObject(r)
    expect(validator.problems(r.kind, object).map((p) => p.message)).toContain(message)
    expect(serverFindings(r.kind, object).join('\n')).toContain(message)
  })
})

describe('an update that breaks a rule', () => {
  test.each(REJECTED_UPDATES.map((r) => [r.kind.kind, r.message, r] as const))('%s: %s', (_, message, r) => {
    const object = rejectedObject(r)
    // Users write no status.
    const own = validator.updateProblems(r.kind, rejectedBase(r), object).map((p) => p.message)
    expect(own).toEqual(r.inStatus === true ? [] : [message])
    expect(serverFindings(r.kind, object, rejectedBase(r)).join('\n')).toContain(message)
  })
})

test('every rule of every kind has a rejected example', () => {
  const tried = new Set([...REJECTED, ...REJECTED_UPDATES].map((r) => `${r.kind.kind}: ${r.message}`))
  const rules = KINDS.flatMap((k) => messages(crdSchema(k)).map((m) => `${k.kind}: ${m}`))
  expect([...new Set(rules)].filter((r) => !tried.has(r))).toEqual([])
})

function messages(schema: Schema): readonly string[] {
  const below = [...Object.values(schema.properties ?? {}), ...(schema.items === undefined ? [] : [schema.items])]
  return [...(schema['x-kubernetes-validations'] ?? []).map((r) => r.message ?? r.rule), ...below.flatMap(messages)]
}

test('the example of each kind has the shape of its kind', () => {
  for (const kind of KINDS) expect(objectShapeProblem(kind.schema, kind.example), kind.kind).toBeUndefined()
})

test('any value gets an answer', () => {
  fc.assert(
    fc.property(fc.anything(), (value) => {
      for (const { schema } of KINDS) objectShapeProblem(schema, { metadata: {}, spec: value, status: value })
    }),
  )
})
