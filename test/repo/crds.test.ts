// Holds every CRD to what a real server demands before it accepts rules: bounds on every list, map, text and number, no types inside unions.
import { describe, expect, test } from 'vitest'
import { crdOf, type CustomResourceDefinition } from '#api/crd.ts'
import { extrasOf, type ApiSchema } from '#api/extras.ts'
import { KINDS } from '#api/kinds.ts'
import { machine } from '#api/kinds/machine.ts'
import { definitionProblems } from '#apiserver/crd/validate.ts'
import { compileRegex } from '#lib/regex.ts'
import type { KubeObject } from '#api/schema/object.ts'
import type { Schema } from '#api/schema/schema.ts'

type Visit = (schema: Schema, path: string) => readonly string[]

/** What `visit` says about every part of a schema. */
function walk(schema: Schema, path: string, visit: Visit): readonly string[] {
  const { properties = {}, items, additionalProperties } = schema
  return [
    ...visit(schema, path),
    ...Object.entries(properties).flatMap(([k, s]) => walk(s, `${path}.${k}`, visit)),
    ...(items === undefined ? [] : walk(items, `${path}[]`, visit)),
    ...(typeof additionalProperties === 'object' ? walk(additionalProperties, `${path}.*`, visit) : []),
  ]
}

const isFreeForm = (s: Schema): boolean => s['x-kubernetes-preserve-unknown-fields'] === true
const isIntOrString = (s: Schema): boolean => s['x-kubernetes-int-or-string'] === true

const unbounded: Visit = (s, path) => {
  if (s.type === 'array') return s.maxItems === undefined ? [`${path}: a list without maxItems`] : []
  if (s.type === 'string' || isIntOrString(s))
    return s.maxLength === undefined && s.enum === undefined && s.format !== 'date-time'
      ? [`${path}: a text without maxLength`]
      : []
  if (s.type === 'integer' || s.type === 'number')
    return s.minimum === undefined || s.maximum === undefined ? [`${path}: a number without minimum and maximum`] : []
  if (s.type === 'object' && s.additionalProperties !== undefined)
    return s.maxProperties === undefined ? [`${path}: a map without maxProperties`] : []
  return []
}

const untyped: Visit = (s, path) => (s.type === undefined && !isIntOrString(s) ? [`${path}: has no type`] : [])

const undocumented: Visit = (s, path) =>
  (s.description ?? '').endsWith('.') ? [] : [`${path}: has no sentence of documentation`]

const looseList: Visit = (s, path) =>
  s.type === 'array' && s['x-kubernetes-list-type'] === undefined
    ? [`${path}: says nothing about how it is merged`]
    : []

const refusedKeyword: Visit = (s, path) =>
  ['$ref', 'oneOf', 'allOf', 'not', 'nullable', 'uniqueItems', 'patternProperties']
    .filter((k) => Object.hasOwn(s, k))
    .map((k) => `${path}: uses ${k}`)
    .concat(s.anyOf !== undefined && !isIntOrString(s) ? [`${path}: uses anyOf`] : [])
    .concat(
      s.additionalProperties !== undefined && s.properties !== undefined
        ? [`${path}: has additionalProperties beside properties`]
        : [],
    )

/** It names each of a dozen fields, one of which has to be set. */
const MOST_OF_MESSAGE = 240
const longMessage: Visit = (s, path) =>
  (s['x-kubernetes-validations'] ?? []).flatMap((r) =>
    (r.message ?? '') === '' || (r.message ?? '').length > MOST_OF_MESSAGE
      ? [`${path}: ${r.rule} has no short message`]
      : [],
  )

const evilPattern: Visit = (s, path) => {
  if (s.pattern === undefined) return []
  compileRegex(s.pattern)
  return s.pattern.startsWith('^') ? [] : [`${path}: its pattern is not anchored`]
}

/** A rule may visit each element; the product of the bounds above it must stay small enough for a server's estimate. */
const MOST_RUNS_OF_A_RULE = 200_000

function rulesRunTooOften(schema: Schema, path: string, times: number): readonly string[] {
  const own =
    (schema['x-kubernetes-validations'] ?? []).length > 0 && times > MOST_RUNS_OF_A_RULE
      ? [`${path}: rules may run ${times} times`]
      : []
  const { properties = {}, items, additionalProperties } = schema
  return [
    ...own,
    ...Object.entries(properties).flatMap(([k, s]) => rulesRunTooOften(s, `${path}.${k}`, times)),
    ...(items === undefined ? [] : rulesRunTooOften(items, `${path}[]`, times * (schema.maxItems ?? Infinity))),
    ...(typeof additionalProperties === 'object'
      ? rulesRunTooOften(additionalProperties, `${path}.*`, times * (schema.maxProperties ?? Infinity))
      : []),
  ]
}

/** With the status that a server fills in before it judges. */
const stored = (crd: CustomResourceDefinition): KubeObject => ({
  ...crd,
  status: { storedVersions: crd.spec.versions.map((v) => v.name) },
})

describe.each(KINDS.map((k) => [k.kind, k] as const))('%s', (_, kind) => {
  const crd = crdOf(kind)
  const schema = crd.spec.versions[0]?.schema.openAPIV3Schema ?? {}

  test.each([
    ['bounds every list, map, text and number', unbounded],
    ['gives every field a type', untyped],
    ['documents every field', undocumented],
    ['says how every list is merged', looseList],
    ['uses no keyword that a server refuses', refusedKeyword],
    ['gives every rule a short message', longMessage],
    ['anchors every pattern, and RE2 reads it', evilPattern],
  ] as const)('%s', (__, visit) => expect(walk(schema, '', visit)).toEqual([]))

  test('runs no rule so often that a server would find it too dear', () =>
    expect(rulesRunTooOften(schema, '', 1)).toEqual([]))

  test('is a definition that a server accepts, with the estimated cost of its rules', () =>
    expect(definitionProblems(stored(crd)).map((p) => `${p.field}: ${p.detail}`)).toEqual([]))

  test('bounds its free-form fields by their size', () => {
    const free: Visit = (s: ApiSchema, path) => (isFreeForm(s) && extrasOf(s).maxBytes === undefined ? [path] : [])
    expect(walk(kind.schema, '', free)).toEqual([])
  })

  test('is small enough for client-side apply, which keeps a copy in an annotation', () =>
    expect(Buffer.byteLength(JSON.stringify(crd))).toBeLessThan(200_000))

  test('shows columns and selects fields that exist', () => {
    const [version] = crd.spec.versions
    const paths = [
      ...(version?.additionalPrinterColumns ?? []).map((c) => c.jsonPath),
      ...(version?.selectableFields ?? []).map((f) => f.jsonPath),
      ...Object.values(version?.subresources?.scale ?? {}),
    ]
    expect(paths.filter((p) => !exists(schema, p))).toEqual([])
    expect(version?.selectableFields?.length ?? 0).toBeLessThanOrEqual(8)
  })
})

/** Follows `.spec.a[?(…)].b` through a schema; metadata is the server's. */
function exists(schema: Schema, jsonPath: string): boolean {
  if (jsonPath.startsWith('.metadata.')) return true
  let at: Schema | undefined = schema
  for (const part of jsonPath
    .replaceAll(/\[[^\]]*\]/g, '.[]')
    .split('.')
    .slice(1))
    at = part === '[]' ? at?.items : at?.properties?.[part]
  return at !== undefined
}

test('a rule that is too dear would be found', () => {
  const crd = crdOf(machine)
  const dear: Schema = {
    type: 'object',
    properties: {
      spec: {
        type: 'array',
        items: { type: 'string' },
        'x-kubernetes-validations': [{ rule: 'self.all(a, self.exists(b, a.contains(b)))', message: 'dear' }],
      },
    },
  }
  const versions = crd.spec.versions.map((v) => ({
    ...v,
    additionalPrinterColumns: [],
    schema: { openAPIV3Schema: dear },
  }))
  const problems = definitionProblems(stored({ ...crd, spec: { ...crd.spec, versions } }))
  expect(problems.filter((p) => /estimated rule cost exceeds budget/.test(p.detail))).toHaveLength(1)
})

test('the word scan finds what it looks for', () => {
  const bad: Schema = {
    type: 'object',
    properties: { a: { type: 'string' }, b: { type: 'array', items: { type: 'integer' } } },
  }
  expect(walk(bad, '', unbounded)).toEqual([
    '.a: a text without maxLength',
    '.b: a list without maxItems',
    '.b[]: a number without minimum and maximum',
  ])
})
