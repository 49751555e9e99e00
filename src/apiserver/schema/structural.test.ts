import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import { applyDefaults } from '#api/schema/default.ts'
import { fieldErrorLine, toCause } from './field-error.ts'
import { prune } from '#api/schema/prune.ts'
import type { Schema } from '#api/schema/schema.ts'
import { findField } from './structural-path.ts'
import { structuralProblems, type StructuralOptions } from './structural.ts'
import { createValidator } from './validate.ts'

const PATH = 'spec.validation.openAPIV3Schema'
const SPEC = `${PATH}.properties[spec]`
const A = `${SPEC}.properties[a]`

const STATUS = {
  type: 'object',
  properties: {
    phase: { type: 'string' },
    conditions: {
      type: 'array',
      items: {
        type: 'object',
        properties: { type: { type: 'string' }, status: { type: 'string' } },
        required: ['type'],
      },
      'x-kubernetes-list-type': 'map',
      'x-kubernetes-list-map-keys': ['type'],
    },
  },
}

/** A root schema around `spec.a`. */
const around = (a: unknown) => ({
  type: 'object' as const,
  properties: { spec: { type: 'object' as const, properties: { a: a as Schema } }, status: STATUS as Schema },
})

const reasonsAndFields = (schema: unknown, options: StructuralOptions = { statusSubresource: true }) =>
  structuralProblems(schema, PATH, options).map(toCause)

const causes = (...list: readonly (readonly [string, string, string])[]) =>
  list.map(([reason, field, message]) => ({ reason, message, field }))

/** What a kube-apiserver 1.36 answered when these schemas were posted. */
const RECORDED: readonly (readonly [string, unknown, ReturnType<typeof causes>])[] = [
  [
    'root type is not object',
    { type: 'string' },
    causes(
      [
        'FieldValueInvalid',
        `${PATH}.type`,
        'Invalid value: "string": only "object" is allowed as the type at the root of the schema if the status subresource is enabled',
      ],
      ['FieldValueInvalid', `${PATH}.type`, 'Invalid value: "string": must be object at the root'],
    ),
  ],
  [
    'property without a type',
    around({ description: 'x' }),
    causes(['FieldValueRequired', `${A}.type`, 'Required value: must not be empty for specified object fields']),
  ],
  [
    'array without items',
    around({ type: 'array' }),
    causes(['FieldValueRequired', `${A}.items`, 'Required value: must be specified']),
  ],
  [
    'items as a list',
    around({ type: 'array', items: [{ type: 'string' }] }),
    causes(['FieldValueForbidden', `${A}.items`, 'Forbidden: items must be a schema object and not an array']),
  ],
  [
    'uniqueItems',
    around({ type: 'array', items: { type: 'string' }, uniqueItems: true }),
    causes([
      'FieldValueForbidden',
      `${A}.uniqueItems`,
      'Forbidden: uniqueItems cannot be set to true since the runtime complexity becomes quadratic',
    ]),
  ],
  [
    'default inside anyOf',
    around({ type: 'string', anyOf: [{ default: 'x' }] }),
    causes(['FieldValueForbidden', `${A}.anyOf[0].default`, 'Forbidden: must be undefined to be structural']),
  ],
  [
    'type inside anyOf',
    around({ type: 'string', anyOf: [{ type: 'string' }] }),
    causes(['FieldValueForbidden', `${A}.anyOf[0].type`, 'Forbidden: must be empty to be structural']),
  ],
  [
    '$ref',
    around({ $ref: '#/definitions/x' }),
    causes(['FieldValueForbidden', `${A}.$ref`, 'Forbidden: $ref is not supported']),
  ],
  [
    'metadata may be restricted by name only',
    {
      type: 'object',
      properties: {
        metadata: {
          type: 'object',
          properties: { labels: { type: 'object', additionalProperties: { type: 'string' } } },
        },
      },
    },
    causes([
      'FieldValueForbidden',
      `${PATH}.properties[metadata]`,
      'Forbidden: must not specify anything other than name and generateName, but metadata is implicitly specified',
    ]),
  ],
  [
    'default of the wrong type',
    around({ type: 'integer', default: 'x' }),
    causes([
      'FieldValueTypeInvalid',
      `${A}.default`,
      'Invalid value: "string":  in body must be of type integer: "string"',
    ]),
  ],
  [
    'default outside of the enum',
    around({ type: 'string', enum: ['x'], default: 'y' }),
    causes(['FieldValueNotSupported', `${A}.default`, 'Unsupported value: "y": supported values: "x"']),
  ],
  [
    'default that would be pruned',
    around({ type: 'object', properties: { x: { type: 'string' } }, default: { y: 1 } }),
    causes(['FieldValueInvalid', `${A}.default`, 'Invalid value: {"y":1}: must not have unknown fields']),
  ],
  ['null default on a field that is not nullable', around({ type: 'string', default: null }), []],
  [
    'bad pattern',
    around({ type: 'string', pattern: '(' }),
    causes([
      'FieldValueInvalid',
      `${A}.pattern`,
      'Invalid value: "(": must be a valid regular expression, but isn\'t: error parsing regexp: missing closing ): `(`',
    ]),
  ],
  [
    'unknown type',
    around({ type: 'thing' }),
    causes([
      'FieldValueNotSupported',
      `${A}.type`,
      'Unsupported value: "thing": supported values: "array", "boolean", "integer", "number", "object", "string"',
    ]),
  ],
  [
    'list map key that is optional without default',
    around({
      type: 'array',
      items: { type: 'object', properties: { k: { type: 'string' } } },
      'x-kubernetes-list-type': 'map',
      'x-kubernetes-list-map-keys': ['k'],
    }),
    causes([
      'FieldValueRequired',
      `${A}.items.properties[k].default`,
      'Required value: this property is in x-kubernetes-list-map-keys, so it must have a default or be a required property',
    ]),
  ],
  [
    'set of objects that are not atomic',
    around({
      type: 'array',
      items: { type: 'object', properties: { k: { type: 'string' } } },
      'x-kubernetes-list-type': 'set',
    }),
    causes([
      'FieldValueInvalid',
      `${A}.items.x-kubernetes-map-type`,
      'Invalid value: null: must be atomic as item of a list with x-kubernetes-list-type=set',
    ]),
  ],
  [
    'unknown list type',
    around({ type: 'array', items: { type: 'string' }, 'x-kubernetes-list-type': 'bag' }),
    causes([
      'FieldValueNotSupported',
      `${A}.x-kubernetes-list-type`,
      'Unsupported value: "bag": supported values: "atomic", "set", "map"',
    ]),
  ],
  ['preserve-unknown-fields on a string', around({ type: 'string', 'x-kubernetes-preserve-unknown-fields': true }), []],
]

describe('structuralProblems', () => {
  test.each(RECORDED)('answers as a real server does: %s', (_, schema, expected) => {
    expect(reasonsAndFields(schema)).toEqual(expected)
  })

  const REFUSED: readonly (readonly [string, unknown, readonly string[]])[] = [
    ['no schema at all', undefined, [`${PATH}: Required value`]],
    ['a root without a type', {}, [`${PATH}.type: Required value: must not be empty at the root`]],
    [
      'a map at the root',
      { type: 'object', additionalProperties: { type: 'string' } },
      [`${PATH}.additionalProperties: Forbidden: must not be used at the root`],
    ],
    [
      'null at the root',
      { type: 'object', nullable: true },
      [`${PATH}.nullable: Forbidden: nullable cannot be true at the root`],
    ],
    [
      'items without a type',
      around({ type: 'array', items: {} }),
      [`${A}.items.type: Required value: must not be empty for specified array items`],
    ],
    [
      'fields and a map in one',
      around({ type: 'object', properties: { x: { type: 'string' } }, additionalProperties: false }),
      [`${A}.additionalProperties: Forbidden: additionalProperties and properties are mutual exclusive`],
    ],
    [
      'a constraint at the root on fields that are not declared',
      {
        type: 'object',
        properties: { spec: { type: 'array', items: { type: 'object' } } },
        oneOf: [{ properties: { spec: { items: { properties: { y: { minLength: 1 } } } }, other: {} } }],
      },
      [
        `${PATH}.properties[other]: Required value: because it is defined in ${PATH}.oneOf[0].properties[other]`,
        `${SPEC}.items.properties[y]: Required value: because it is defined in ${PATH}.oneOf[0].properties[spec].items.properties[y]`,
      ],
    ],
    [
      'int-or-string with unknown fields',
      around({ 'x-kubernetes-int-or-string': true, 'x-kubernetes-preserve-unknown-fields': true }),
      [
        `${A}.x-kubernetes-preserve-unknown-fields: Invalid value: true: must be false if x-kubernetes-int-or-string is true`,
      ],
    ],
    [
      'int-or-string with a third type',
      around({ 'x-kubernetes-int-or-string': true, anyOf: [{ type: 'string' }, { type: 'integer' }] }),
      [
        `${A}.anyOf[0].type: Forbidden: must be empty to be structural`,
        `${A}.anyOf[1].type: Forbidden: must be empty to be structural`,
      ],
    ],
    [
      'an embedded object that is no object',
      around({ type: 'string', 'x-kubernetes-embedded-resource': true, 'x-kubernetes-preserve-unknown-fields': true }),
      [`${A}.type: Invalid value: "string": must be object if x-kubernetes-embedded-resource is true`],
    ],
    [
      'an embedded object that says nothing',
      around({ type: 'object', 'x-kubernetes-embedded-resource': true }),
      [
        `${A}.properties: Required value: must not be empty if x-kubernetes-embedded-resource is true without x-kubernetes-preserve-unknown-fields`,
      ],
    ],
    [
      'preserving unknown fields switched off',
      around({ type: 'object', 'x-kubernetes-preserve-unknown-fields': false }),
      [`${A}.x-kubernetes-preserve-unknown-fields: Invalid value: false: must be true or undefined`],
    ],
    [
      'a list type on a string',
      around({ type: 'string', 'x-kubernetes-list-type': 'set' }),
      [`${A}.type: Invalid value: "string": must be array if x-kubernetes-list-type is specified`],
    ],
    [
      'a map type on a string',
      around({ type: 'string', 'x-kubernetes-map-type': 'atomic' }),
      [`${A}.type: Invalid value: "string": must be object if x-kubernetes-map-type is specified`],
    ],
    [
      'an unknown map type',
      around({ type: 'object', 'x-kubernetes-map-type': 'bag' }),
      [`${A}.x-kubernetes-map-type: Unsupported value: "bag": supported values: "atomic", "granular"`],
    ],
    [
      'a list map without keys',
      around({ type: 'array', items: { type: 'object' }, 'x-kubernetes-list-type': 'map' }),
      [`${A}.x-kubernetes-list-map-keys: Required value: must not be empty if x-kubernetes-list-type is map`],
    ],
    [
      'keys without a list map',
      around({
        type: 'array',
        items: { type: 'object', properties: { k: { type: 'string' } } },
        'x-kubernetes-list-map-keys': ['k'],
      }),
      [`${A}.x-kubernetes-list-type: Required value: must be map if x-kubernetes-list-map-keys is non-empty`],
    ],
    [
      'a list map of strings',
      around({
        type: 'array',
        items: { type: 'string' },
        'x-kubernetes-list-type': 'map',
        'x-kubernetes-list-map-keys': ['k'],
      }),
      [`${A}.items.type: Invalid value: "string": must be object if parent array's x-kubernetes-list-type is map`],
    ],
    [
      'a list map key that is unknown, twice',
      around({
        type: 'array',
        items: { type: 'object' },
        'x-kubernetes-list-type': 'map',
        'x-kubernetes-list-map-keys': ['k', 'k'],
      }),
      [
        `${A}.x-kubernetes-list-map-keys: Invalid value: ["k","k"]: entries must all be names of item properties`,
        `${A}.x-kubernetes-list-map-keys: Invalid value: ["k","k"]: entries must all be names of item properties`,
        `${A}.x-kubernetes-list-map-keys: Invalid value: ["k","k"]: must not contain duplicate entries`,
      ],
    ],
    [
      'a list map key that is a list, and may be null',
      around({
        type: 'array',
        items: {
          type: 'object',
          required: ['k'],
          properties: { k: { type: 'array', nullable: true, items: { type: 'string' } } },
        },
        'x-kubernetes-list-type': 'map',
        'x-kubernetes-list-map-keys': ['k'],
      }),
      [
        `${A}.items.properties[k].type: Invalid value: "object": must be a scalar type if parent array's x-kubernetes-list-type is map`,
        `${A}.items.properties[k].nullable: Forbidden: this property is in x-kubernetes-list-map-keys, so it cannot be nullable`,
      ],
    ],
    [
      'a set of things that may be null',
      around({ type: 'array', items: { type: 'string', nullable: true }, 'x-kubernetes-list-type': 'set' }),
      [`${A}.items.nullable: Forbidden: cannot be nullable when x-kubernetes-list-type is set`],
    ],
    [
      'a set of sets',
      around({
        type: 'array',
        items: { type: 'array', items: { type: 'string' }, 'x-kubernetes-list-type': 'set' },
        'x-kubernetes-list-type': 'set',
      }),
      [
        `${A}.items.x-kubernetes-list-type: Invalid value: "set": must be atomic as item of a list with x-kubernetes-list-type=set`,
      ],
    ],
    [
      'kind that is no string',
      { type: 'object', properties: { kind: { type: 'integer' } } },
      [`${PATH}.properties[kind].type: Invalid value: "integer": must be string`],
    ],
    [
      'a default in the labels of an embedded object',
      around({
        type: 'object',
        'x-kubernetes-embedded-resource': true,
        properties: {
          metadata: {
            type: 'object',
            properties: { labels: { type: 'object', additionalProperties: { type: 'string', default: 'x' } } },
          },
        },
      }),
      [
        `${A}.properties[metadata].properties[labels].additionalProperties.default: Forbidden: must not be set inside additionalProperties applying to object metadata`,
      ],
    ],
    [
      'a default for kind',
      { type: 'object', properties: { kind: { type: 'string', default: 'A' } } },
      [`${PATH}.properties[kind].default: Forbidden: must not be set in top-level kind`],
    ],
    [
      'metadata in a constraint',
      { type: 'object', not: { properties: { metadata: {} } }, properties: { metadata: { type: 'object' } } },
      [`${PATH}.not.properties[metadata]: Forbidden: must not be specified in a nested context`],
    ],
    [
      'a schema keyword of JSON Schema that is not known',
      around({ type: 'string', $schema: 'x' }),
      [`${PATH}: Invalid value: "": OpenAPIV3Schema 'schema' is not supported`],
    ],
  ]
  test.each(REFUSED)('says why it refuses %s', (_, schema, expected) => {
    expect(structuralProblems(schema, PATH).map(fieldErrorLine)).toEqual(expected)
  })

  const ACCEPTED: readonly (readonly [string, unknown])[] = [
    ['a usual schema', around({ type: 'string', maxLength: 5, default: 'x' })],
    [
      'names restricted in metadata',
      {
        type: 'object',
        properties: {
          metadata: {
            type: 'object',
            properties: { name: { type: 'string', maxLength: 20 }, generateName: { type: 'string' } },
          },
        },
      },
    ],
    [
      'int-or-string in both forms',
      around({
        type: 'object',
        properties: {
          x: { 'x-kubernetes-int-or-string': true, anyOf: [{ type: 'integer' }, { type: 'string' }], default: '5%' },
          y: {
            'x-kubernetes-int-or-string': true,
            allOf: [{ anyOf: [{ type: 'integer' }, { type: 'string' }] }, { not: { enum: ['x'] } }],
          },
        },
      }),
    ],
    [
      'one of several declared fields',
      around({
        type: 'object',
        properties: { x: { type: 'string' }, y: { type: 'string' } },
        oneOf: [{ required: ['x'] }, { required: ['y'] }],
      }),
    ],
    ['rules, which the CEL checker judges', around({ type: 'string', 'x-kubernetes-validations': [{ rule: '' }] })],
    ['anything below a field', around({ 'x-kubernetes-preserve-unknown-fields': true })],
    [
      'an embedded object with a default',
      around({
        type: 'object',
        'x-kubernetes-embedded-resource': true,
        'x-kubernetes-preserve-unknown-fields': true,
        default: { apiVersion: 'v1', kind: 'Pod', metadata: {} },
      }),
    ],
    [
      'fields beside a map of anything',
      around({ type: 'object', properties: { x: { type: 'string' } }, additionalProperties: true }),
    ],
  ]
  test.each(ACCEPTED)('accepts %s', (_, schema) => {
    expect(structuralProblems(schema, PATH, { statusSubresource: true }).map(fieldErrorLine)).toEqual([])
  })

  test('the root says little else when status is cut out of it', () => {
    const [found, ...more] = structuralProblems({ type: 'object', anyOf: [{ required: ['spec'] }] }, PATH, {
      statusSubresource: true,
    })
    expect(more).toEqual([])
    expect(found && fieldErrorLine(found)).toContain('only [Description Type Format Title')
    expect(structuralProblems({ type: 'object', anyOf: [{ required: ['spec'] }] }, PATH)).toEqual([])
  })

  test('a schema that nests too deep is refused before anything walks it', () => {
    let deep: unknown = { type: 'string' }
    for (let i = 0; i < 100_000; i++) deep = { type: 'array', items: deep }
    expect(structuralProblems(deep, PATH).map(fieldErrorLine)).toEqual([
      `${PATH}: Forbidden: must not nest deeper than 200 levels`,
    ])
  })

  const JUNK_KEYS = [
    'type',
    'default',
    'properties',
    'items',
    'additionalProperties',
    'anyOf',
    'not',
    'pattern',
    'x-kubernetes-list-type',
    'x-kubernetes-list-map-keys',
    'x-kubernetes-validations',
    'x-kubernetes-embedded-resource',
    '__proto__',
  ]

  test('gives an answer to any JSON', () => {
    const junk = fc.jsonValue({ maxDepth: 2 })
    const level = (inner: fc.Arbitrary<unknown>) =>
      fc.dictionary(
        fc.constantFrom(...JUNK_KEYS),
        fc.oneof(
          junk,
          inner,
          fc.array(inner, { maxLength: 2 }),
          fc.constantFrom('object', 'array', 'map', 'set', '(', true),
        ),
        { maxKeys: 4 },
      )
    fc.assert(
      fc.property(level(level(level(junk))), (schema) => {
        const found = structuralProblems(schema, PATH, { statusSubresource: true })
        expect(found.map(fieldErrorLine).every((line) => line.startsWith('spec.validation'))).toBe(true)
      }),
      { numRuns: 200 },
    )
  })

  test('a value filled with the defaults of an accepted schema is valid and has nothing to prune', () => {
    const leaf = fc.constantFrom<Schema>(
      { type: 'string', default: 'x' },
      { type: 'string', enum: ['a', 'b'], default: 'b' },
      { type: 'integer', default: 3, minimum: 0 },
      { type: 'integer', maximum: 2, default: 3 },
      { 'x-kubernetes-int-or-string': true, default: '5%' },
      { type: 'boolean', default: 'no' },
      { type: 'array', items: { type: 'string' }, default: ['x'] },
    )
    const object = (inner: fc.Arbitrary<Schema>): fc.Arbitrary<Schema> =>
      fc
        .record({
          properties: fc.dictionary(fc.constantFrom('a', 'b', '__proto__'), inner, { maxKeys: 3 }),
          default: fc.constantFrom({}, { a: 'x' }),
        })
        .map((s) => ({ type: 'object', ...s }))
    fc.assert(
      fc.property(object(fc.oneof(leaf, object(leaf))), (a) => {
        const schema = around(a)
        fc.pre(structuralProblems(schema, PATH).length === 0)
        const filled = applyDefaults(schema, { spec: {} })
        expect(createValidator(schema).validate(filled).map(fieldErrorLine)).toEqual([])
        expect(prune(schema, filled)).toEqual({ value: filled, unknownFields: [] })
      }),
      { numRuns: 100 },
    )
  })
})

describe('findField', () => {
  const schema = around({ type: 'object', additionalProperties: { type: 'string' } })
  const FIELDS: readonly (readonly [string, ReturnType<typeof findField>])[] = [
    ['.spec.a', { path: 'spec.a', schema: { type: 'object', additionalProperties: { type: 'string' } } }],
    [".spec['a']['x.y']", { path: 'spec.a[x.y]', schema: { type: 'string' } }],
    ['.spec.nope', { problem: 'does not refer to a valid field' }],
    ['.metadata.name', { problem: 'does not refer to a valid field' }],
    ['.status.conditions.type', { problem: 'does not refer to a valid field' }],
    ['spec', { problem: 'expected [ or . but got: spec' }],
    ['.spec.', { problem: 'unexpected end of JSON path' }],
    ['.spec[0]', { problem: 'expected single quoted string but got 0' }],
    [".spec['a'", { problem: 'unexpected end of JSON path' }],
  ]
  test.each(FIELDS)('%s', (path, expected) => {
    expect(findField(schema, path)).toEqual(expected)
  })

  test('takes no brackets where only dots may be', () => {
    expect(findField(schema, ".spec['a']", { brackets: false })).toEqual({ problem: 'array notation is not allowed' })
  })
})
