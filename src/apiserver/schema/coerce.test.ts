import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import { coerceEmbedded, coerceMetadata } from './coerce.ts'
import { fieldErrorLine } from './field-error.ts'
import type { Schema } from '#api/schema/schema.ts'

const EMBEDDED: Schema = {
  type: 'object',
  'x-kubernetes-embedded-resource': true,
  'x-kubernetes-preserve-unknown-fields': true,
}
const schema: Schema = {
  type: 'object',
  properties: { spec: { type: 'object', properties: { t: EMBEDDED, l: { type: 'array', items: EMBEDDED } } } },
}

describe('coerceEmbedded', () => {
  test('drops unknown, empty and null fields of embedded metadata and names the unknown', () => {
    const t = {
      apiVersion: 'v1',
      kind: 'A',
      metadata: { name: 'a', bogus: 1, labels: null, annotations: {}, generateName: '' },
      data: { bogus: 1 },
    }
    const managed = {
      metadata: { managedFields: [{ manager: 'a', fieldsV1: { 'f:spec': {} } }], finalizers: ['x.io/f'], x: 1 },
    }
    expect(coerceEmbedded(schema, { metadata: { bogus: 1 }, spec: { t, l: [managed] } })).toEqual({
      value: {
        metadata: { bogus: 1 },
        spec: {
          t: { apiVersion: 'v1', kind: 'A', metadata: { name: 'a' }, data: { bogus: 1 } },
          l: [{ metadata: { managedFields: [{ manager: 'a', fieldsV1: { 'f:spec': {} } }], finalizers: ['x.io/f'] } }],
        },
      },
      unknownFields: ['spec.l[0].metadata.x', 'spec.t.metadata.bogus'],
      problems: [],
    })
  })

  const UNREADABLE: readonly (readonly [string, unknown, string])[] = [
    [
      'a name that is a number',
      { metadata: { name: 5 } },
      'spec.t.metadata: Invalid value: {"name":5}: json: cannot unmarshal number into Go struct field ObjectMeta.name of type string',
    ],
    [
      'a label that is a boolean',
      { metadata: { labels: { a: true } } },
      'spec.t.metadata: Invalid value: {"labels":{"a":true}}: json: cannot unmarshal bool into Go struct field ObjectMeta.labels of type string',
    ],
    [
      'metadata that is a list',
      { metadata: [] },
      'spec.t.metadata: Invalid value: []: json: cannot unmarshal array into Go value of type v1.ObjectMeta',
    ],
    ['a kind that is a number', { kind: 5 }, 'spec.t.kind: Invalid value: 5: must be a string'],
  ]
  test.each(UNREADABLE)('refuses %s and leaves the value', (_, t, line) => {
    const value = { spec: { t } }
    const coerced = coerceEmbedded(schema, value)
    expect(coerced.value).toBe(value)
    expect(coerced.problems.map(fieldErrorLine)).toEqual([line])
  })

  test('gives back the very value when nothing has to go', () => {
    const value = { spec: { t: { metadata: { name: 'a', generation: 2n ** 60n } } } }
    expect(coerceEmbedded(schema, value).value).toBe(value)
  })
})

test('metadata of any form is read or refused, and once read stays', () => {
  const any = fc.dictionary(
    fc.constantFrom('name', 'labels', 'finalizers', 'generation', 'ownerReferences', '__proto__', 'x'),
    fc.jsonValue({ maxDepth: 2 }),
  )
  fc.assert(
    fc.property(any, (metadata) => {
      const once = coerceMetadata(metadata, 'metadata')
      if (once.problems.length > 0) return
      expect(coerceMetadata(once.value, 'metadata')).toEqual({ value: once.value, unknownFields: [], problems: [] })
    }),
    { numRuns: 200 },
  )
})
