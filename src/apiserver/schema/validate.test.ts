import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import { isObject } from '#lib/json.ts'
import { fieldErrorLine } from './field-error.ts'
import type { Schema } from '#api/schema/schema.ts'
import { createValidator, createValidators, validate } from './validate.ts'

const lines = (schema: Schema, value: unknown, old?: unknown) =>
  validate(schema, value, old === undefined ? {} : { old }).map(fieldErrorLine)

const spec = (properties: Readonly<Record<string, Schema>>, more: Schema = {}): Schema => ({
  type: 'object',
  properties: { spec: { type: 'object', properties, ...more } },
})

const INVALID = 'Invalid value'
const wrongType = (field: string, want: string, seen: string) =>
  `${field}: ${INVALID}: "${seen}": ${field} in body must be of type ${want}: "${seen}"`

describe('keywords on a single value', () => {
  const KEYWORDS: readonly (readonly [string, Schema, unknown, readonly string[]])[] = [
    ['a string', { type: 'string' }, 'x', []],
    ['a number for a string', { type: 'string' }, 5, [wrongType('spec.a', 'string', 'integer')]],
    [
      'a float for an integer',
      { type: 'integer' },
      1.5,
      [
        wrongType('spec.a', 'integer', 'number'),
        `<nil>: ${INVALID}: "": Checked value must be of type integer (default format) in spec.a`,
      ],
    ],
    ['an integer for a number', { type: 'number' }, 3, []],
    ['an integer beyond 2^53', { type: 'integer' }, 2n ** 53n + 1n, []],
    [
      'an integer beyond 64 bits',
      { type: 'integer' },
      2n ** 63n,
      [`<nil>: ${INVALID}: "": Checked value must be of type integer (default format) in spec.a`],
    ],
    [
      'an integer beyond 32 bits',
      { type: 'integer', format: 'int32' },
      2 ** 31,
      [`<nil>: ${INVALID}: "": Checked value must be of type integer with format int32 in spec.a`],
    ],
    ['the largest int32', { type: 'integer', format: 'int32' }, 2 ** 31 - 1, []],
    ['a boolean for an int32', { type: 'integer', format: 'int32' }, true, [wrongType('spec.a', 'int32', '')]],
    [
      'a number too large for a float',
      { type: 'number', format: 'float' },
      1e39,
      [`<nil>: ${INVALID}: "": Checked value must be of type number with format float in spec.a`],
    ],
    ['a list for an object', { type: 'object' }, [], [wrongType('spec.a', 'object', 'array')]],
    ['null where none may be', { type: 'boolean' }, null, [wrongType('spec.a', 'boolean', 'null')]],
    ['null where one may be', { type: 'boolean', nullable: true }, null, []],
    ['a member of an enum', { type: 'string', enum: ['a', 'b'] }, 'b', []],
    [
      'no member of an enum',
      { type: 'string', enum: ['a', 'b'] },
      'c',
      ['spec.a: Unsupported value: "c": supported values: "a", "b"'],
    ],
    ['an object of an enum, keys in another order', { type: 'object', enum: [{ x: 1, y: 2 }] }, { y: 2, x: 1 }, []],
    [
      'a wrong type that is no member either',
      { type: 'string', enum: ['a'] },
      5,
      [wrongType('spec.a', 'string', 'integer'), 'spec.a: Unsupported value: 5: supported values: "a"'],
    ],
    [
      'a number outside of a numeric enum',
      { type: 'integer', enum: [1, 2] },
      3,
      ['spec.a: Unsupported value: 3: supported values: "1", "2"'],
    ],
    ['a bigint in a numeric enum', { type: 'integer', enum: [5] }, 5n, []],
    [
      'more than the maximum',
      { type: 'integer', maximum: 100 },
      101,
      [`spec.a: ${INVALID}: 101: spec.a in body should be less than or equal to 100`],
    ],
    [
      'the exclusive maximum',
      { type: 'integer', maximum: 100, exclusiveMaximum: true },
      100,
      [`spec.a: ${INVALID}: 100: spec.a in body should be less than 100`],
    ],
    [
      'less than the minimum',
      { type: 'number', minimum: 0.5 },
      0.25,
      [`spec.a: ${INVALID}: 0.25: spec.a in body should be greater than or equal to 0.5`],
    ],
    [
      'the exclusive minimum',
      { type: 'integer', minimum: 0, exclusiveMinimum: true },
      0,
      [`spec.a: ${INVALID}: 0: spec.a in body should be greater than 0`],
    ],
    [
      'a bound that no integer can be',
      { type: 'integer', minimum: 0.5 },
      7,
      [`<nil>: ${INVALID}: "": Minimum boundary value must be of type integer (default format) in spec.a`],
    ],
    [
      'no multiple',
      { type: 'integer', multipleOf: 5 },
      7,
      [`spec.a: ${INVALID}: 7: spec.a in body should be a multiple of 5`],
    ],
    ['a multiple of a fraction', { type: 'number', multipleOf: 0.1 }, 0.3, []],
    [
      'a pattern that does not match',
      { type: 'string', pattern: '^v[0-9]+\\.[0-9]+$' },
      '1',
      [`spec.a: ${INVALID}: "1": spec.a in body should match '^v[0-9]+\\.[0-9]+$'`],
    ],
    [
      'a string that is too long',
      { type: 'string', maxLength: 2 },
      'abc',
      ['spec.a: Too long: may not be more than 2 bytes'],
    ],
    ['a length counted in characters', { type: 'string', maxLength: 2, minLength: 2 }, '😀é', []],
    [
      'a string that is too short',
      { type: 'string', minLength: 2 },
      '😀',
      [`spec.a: ${INVALID}: "😀": spec.a in body should be at least 2 chars long`],
    ],
    ['a date that is none', { type: 'string', format: 'date-time' }, 'now', [wrongType('spec.a', 'date-time', 'now')]],
    ['an unknown format', { type: 'string', format: 'colour' }, 'x', []],
    ['an integer for int-or-string', { 'x-kubernetes-int-or-string': true }, 5, []],
    ['a percentage for int-or-string', { 'x-kubernetes-int-or-string': true }, '5%', []],
    [
      'a boolean for int-or-string',
      { 'x-kubernetes-int-or-string': true },
      true,
      [wrongType('spec.a', 'integer,string', 'boolean')],
    ],
    ['anything without a schema', { 'x-kubernetes-preserve-unknown-fields': true }, [{ a: null }], []],
  ]
  test.each(KEYWORDS)('%s', (_, schema, value, expected) => {
    expect(lines(spec({ a: schema }), { spec: { a: value } })).toEqual(expected)
  })
})

describe('keywords on lists and objects', () => {
  const KEYWORDS: readonly (readonly [string, Schema, unknown, readonly string[]])[] = [
    ['a missing field', { type: 'object', required: ['b'] }, {}, ['spec.a.b: Required value']],
    [
      'too few items',
      { type: 'array', minItems: 2, items: {} },
      [1],
      [`spec.a: ${INVALID}: 1: spec.a in body should have at least 2 items`],
    ],
    [
      'too many items',
      { type: 'array', maxItems: 1, items: {} },
      [1, 2],
      ['spec.a: Too many: 2: must have at most 1 item'],
    ],
    [
      'a bad item',
      { type: 'array', items: { type: 'string' } },
      ['x', 1],
      [wrongType('spec.a[1]', 'string', 'integer')],
    ],
    [
      'too few fields',
      { type: 'object', minProperties: 1 },
      {},
      [`spec.a: ${INVALID}: 0: spec.a in body should have at least 1 properties`],
    ],
    [
      'too many fields',
      { type: 'object', maxProperties: 1 },
      { x: 1, y: 2 },
      ['spec.a: Too many: 2: must have at most 1 item'],
    ],
    [
      'a bad value of a map, the key plain in the path',
      { type: 'object', additionalProperties: { type: 'string' } },
      { 'a.b/c': 1 },
      [wrongType('spec.a.a.b/c', 'string', 'integer')],
    ],
    [
      'a forbidden name',
      { type: 'object', additionalProperties: false },
      { x: 1 },
      [`spec.a: ${INVALID}: "x": spec.a.x in body is a forbidden property`],
    ],
    [
      'items that are not unique',
      { type: 'array', uniqueItems: true, items: {} },
      [
        { a: 1, b: 2 },
        { b: 2, a: 1 },
      ],
      [`spec.a: ${INVALID}: "": spec.a in body shouldn't contain duplicates`],
    ],
    [
      'a set with repeats, each told once',
      { type: 'array', 'x-kubernetes-list-type': 'set', items: { type: 'string' } },
      ['x', 'y', 'x', 'x'],
      ['spec.a[2]: Duplicate value: "x"'],
    ],
    [
      'a set that tells a number from a string',
      { type: 'array', 'x-kubernetes-list-type': 'set', items: { 'x-kubernetes-int-or-string': true } },
      [1, '1'],
      [],
    ],
    [
      'a map list with a key twice',
      {
        type: 'array',
        'x-kubernetes-list-type': 'map',
        'x-kubernetes-list-map-keys': ['k', 'e'],
        items: { type: 'object' },
      },
      [
        { k: 'a', e: 1, x: 1 },
        { e: 1, k: 'a' },
      ],
      ['spec.a[1]: Duplicate value: {"e":1,"k":"a"}'],
    ],
    [
      'a map list with items that lack the key',
      {
        type: 'array',
        'x-kubernetes-list-type': 'map',
        'x-kubernetes-list-map-keys': ['k'],
        items: { type: 'object' },
      },
      [{}, { x: 1 }],
      ['spec.a[1]: Duplicate value: {}'],
    ],
    [
      'a set inside a map of lists',
      { type: 'object', additionalProperties: { type: 'array', 'x-kubernetes-list-type': 'set', items: {} } },
      { k: [1, 1] },
      ['spec.a[k][1]: Duplicate value: 1'],
    ],
    [
      'an embedded object that does not say what it is',
      { type: 'object', 'x-kubernetes-embedded-resource': true },
      { metadata: { name: 'a/b' } },
      [
        'spec.a.apiVersion: Required value',
        'spec.a.kind: Required value',
        `spec.a.metadata.name: ${INVALID}: "a/b": may not contain '/'`,
      ],
    ],
    [
      'an embedded object that is well',
      { type: 'object', 'x-kubernetes-embedded-resource': true },
      { apiVersion: 'apps/v1', kind: 'Deployment', metadata: { name: 'a' } },
      [],
    ],
  ]
  test.each(KEYWORDS)('%s', (_, schema, value, expected) => {
    expect(lines(spec({ a: schema }), { spec: { a: value } })).toEqual(expected)
  })
})

describe('schemas of which some or all must fit', () => {
  const either: Schema = { type: 'object', properties: { a: { type: 'string' }, b: { type: 'string' } } }
  const must = `"spec" must validate`
  const COMBINED: readonly (readonly [string, Schema, unknown, readonly string[]])[] = [
    ['oneOf with one that fits', { oneOf: [{ required: ['a'] }, { required: ['b'] }] }, { a: '1' }, []],
    [
      'oneOf with none that fits: the first is shown',
      { oneOf: [{ required: ['a'] }, { required: ['b'] }] },
      {},
      [`<nil>: ${INVALID}: "": ${must} one and only one schema (oneOf). Found none valid`, 'spec.a: Required value'],
    ],
    [
      'oneOf with two that fit',
      { oneOf: [{ required: ['a'] }, { required: ['b'] }] },
      { a: '1', b: '2' },
      [`<nil>: ${INVALID}: "": ${must} one and only one schema (oneOf). Found 2 valid alternatives`],
    ],
    [
      'anyOf: the one that came furthest is shown',
      { anyOf: [{ required: ['a'] }, { properties: { b: { minLength: 2 } } }] },
      { b: '1' },
      [
        `<nil>: ${INVALID}: "": ${must} at least one schema (anyOf)`,
        `spec.b: ${INVALID}: "1": spec.b in body should be at least 2 chars long`,
      ],
    ],
    [
      'allOf with one that does not fit',
      { allOf: [{ required: ['a'] }, { required: ['b'] }] },
      { a: '1' },
      ['spec.b: Required value', `<nil>: ${INVALID}: "": ${must} all the schemas (allOf)`],
    ],
    [
      'allOf with none that fits; equal findings once',
      { allOf: [{ required: ['a'] }, { required: ['a'] }] },
      {},
      ['spec.a: Required value', `<nil>: ${INVALID}: "": ${must} all the schemas (allOf). None validated`],
    ],
    [
      'not',
      { not: { required: ['a'] } },
      { a: '1' },
      [`<nil>: ${INVALID}: "": "spec" must not validate the schema (not)`],
    ],
  ]
  test.each(COMBINED)('%s', (_, more, value, expected) => {
    expect(lines({ type: 'object', properties: { spec: { ...either, ...more } } }, { spec: value })).toEqual(expected)
  })
})

test('of anyOf the schema is shown that met more checks, not the one with more fields', () => {
  const text: Schema = { type: 'string', nullable: true }
  const nulls = { required: ['z'], properties: { b: {}, c: {} } }
  const found = lines(
    spec({ a: text, b: text, c: text }, { anyOf: [nulls, { properties: { a: { minLength: 2 } } }] }),
    { spec: { a: '1', b: null, c: null } },
  )
  expect(found[1]).toBe(`spec.a: ${INVALID}: "1": spec.a in body should be at least 2 chars long`)
})

describe('an update', () => {
  const schema = spec({
    role: { type: 'string', enum: ['worker'] },
    n: { type: 'integer', maximum: 5 },
    steps: {
      type: 'array',
      'x-kubernetes-list-type': 'map',
      'x-kubernetes-list-map-keys': ['name'],
      items: { type: 'object', properties: { name: { type: 'string' }, n: { type: 'integer', maximum: 5 } } },
    },
    plain: { type: 'array', items: { type: 'integer', maximum: 5 } },
    zones: { type: 'array', 'x-kubernetes-list-type': 'set', items: { type: 'string' } },
  })
  const tooMuch = (field: string, n: number) =>
    `${field}: ${INVALID}: ${n}: ${field} in body should be less than or equal to 5`
  const UPDATES: readonly (readonly [string, unknown, unknown, readonly string[]])[] = [
    ['keeps a wrong value that it does not touch', { role: 'old', n: 1 }, { role: 'old', n: 2 }, []],
    [
      'may not change a wrong value into another one',
      { role: 'old' },
      { role: 'older' },
      ['spec.role: Unsupported value: "older": supported values: "worker"'],
    ],
    ['may not bring a wrong value back', {}, { n: 6 }, [tooMuch('spec.n', 6)]],
    [
      'finds the item of a list map by its key',
      {
        steps: [
          { name: 'a', n: 9 },
          { name: 'b', n: 1 },
        ],
      },
      {
        steps: [
          { name: 'b', n: 7 },
          { name: 'a', n: 9 },
        ],
      },
      [tooMuch('spec.steps[0].n', 7)],
    ],
    ['keeps the wrong items of a plain list only with the whole list', { plain: [9, 1] }, { plain: [9, 1], n: 1 }, []],
    [
      'validates a plain list again when one item changes',
      { plain: [9, 1] },
      { plain: [9, 2] },
      [tooMuch('spec.plain[0]', 9)],
    ],
    ['keeps a set that had duplicates', { zones: ['a', 'a'] }, { zones: ['a', 'a', 'b', 'b'] }, []],
    [
      'may not give a set its first duplicates',
      { zones: ['a'] },
      { zones: ['a', 'a'] },
      ['spec.zones[1]: Duplicate value: "a"'],
    ],
  ]
  test.each(UPDATES)('%s', (_, old, value, expected) => {
    expect(lines(schema, { spec: value }, { spec: old })).toEqual(expected)
  })

  test('validates an object again when a field was removed', () => {
    const needy = spec({ a: { type: 'string' }, c: { type: 'string' } }, { required: ['b'] })
    expect(lines(needy, { spec: { a: '1', c: '2' } }, { spec: { a: '1', c: '2' } })).toEqual([])
    expect(lines(needy, { spec: { a: '1' } }, { spec: { a: '1', c: '2' } })).toEqual(['spec.b: Required value'])
  })

  test('validates apiVersion and kind of the object itself again', () => {
    const typed: Schema = {
      type: 'object',
      properties: { kind: { type: 'string', enum: ['A'] }, n: { type: 'integer' } },
    }
    expect(lines(typed, { kind: 'B', n: 2 }, { kind: 'B', n: 1 })).toEqual([
      'kind: Unsupported value: "B": supported values: "A"',
    ])
  })
})

test('the field of a value that is not an object is none, and a path can stand before all fields', () => {
  expect(lines({ type: 'object' }, 'x')).toEqual([
    `<nil>: ${INVALID}: "string":  in body must be of type object: "string"`,
  ])
  expect(validate({ type: 'object', required: ['b'] }, {}, { path: 'spec.template' }).map(fieldErrorLine)).toEqual([
    'spec.template.b: Required value',
  ])
})

test('a schema object is prepared once', () => {
  const validators = createValidators()
  const schema: Schema = { type: 'string' }
  expect(validators.for(schema)).toBe(validators.for(schema))
  expect(validators.for({ type: 'string' })).not.toBe(validators.for(schema))
})

test('a schema that contains itself ends with the value', () => {
  const tree: { type: 'object'; properties: Record<string, Schema> } = {
    type: 'object',
    properties: { name: { type: 'string' } },
  }
  tree.properties['child'] = tree
  expect(lines(tree, { child: { child: { name: 1 } } })).toEqual([wrongType('child.child.name', 'string', 'integer')])
})

test('prototype names are names like any other', () => {
  const schema: Schema = JSON.parse(
    '{"type":"object","required":["toString"],"properties":{"__proto__":{"type":"string"},"constructor":{"type":"integer"}}}',
  )
  expect(lines(schema, JSON.parse('{"__proto__":1}'))).toEqual([
    wrongType('__proto__', 'string', 'integer'),
    'toString: Required value',
  ])
})

describe('hostile input', () => {
  const EVIL = ['^(a+)+$', '^(a|aa)+$', '(x+x+)+y', '^(\\w+\\s?)*$']
  // A backtracking engine would need more steps than could ever end.
  test.each(EVIL)('the pattern %s ends on a long text', (pattern) => {
    const found = validate({ type: 'string', pattern }, `${'a'.repeat(50_000)}!`)
    expect(found.map((e) => e.type)).toEqual(['FieldValueInvalid'])
  })

  test('a bad pattern lets nothing through and says why', () => {
    expect(lines({ type: 'string', pattern: '(' }, 'x')).toEqual([
      `<nil>: ${INVALID}: "x":  in body should match '(, but pattern is invalid: error parsing regexp: missing closing ): \`(\`'`,
    ])
  })

  test('values nested deeper than any stack are judged as far as the schema goes', () => {
    let deep: unknown = { a: 1 }
    for (let i = 0; i < 100_000; i++) deep = i % 2 === 0 ? [deep] : { deep }
    const open: Schema = { 'x-kubernetes-preserve-unknown-fields': true }
    expect(lines(spec({ a: open }), { spec: { a: deep } }, { spec: { a: deep } })).toEqual([])
    expect(
      lines(
        spec({ a: { type: 'string', enum: ['x'] } }),
        { spec: { a: deep } },
        { spec: { a: structuredCloneDeep(deep) } },
      )[0],
    ).toBe(wrongType('spec.a', 'string', 'object'))
    expect(
      lines(spec({ a: { type: 'array', 'x-kubernetes-list-type': 'set', items: open } }), {
        spec: { a: [deep, deep] },
      })[0],
    ).toContain('spec.a[1]: Duplicate value: ')
  })
})

describe('for any schema and any value', () => {
  const keyword = fc.constantFrom(
    'type',
    'format',
    'enum',
    'properties',
    'required',
    'additionalProperties',
    'items',
    'pattern',
    'minLength',
    'maximum',
    'multipleOf',
    'anyOf',
    'oneOf',
    'allOf',
    'not',
    'x-kubernetes-list-type',
    'x-kubernetes-int-or-string',
    'x-kubernetes-embedded-resource',
  )
  const { schema: anySchema } = fc.letrec<{ schema: Schema; value: unknown }>((tie) => ({
    value: fc.oneof(
      { maxDepth: 4, depthSize: 'small' },
      fc.jsonValue({ maxDepth: 2 }),
      fc.constantFrom('object', 'array', 'string', 'integer', 'set', 'map', true, '('),
      fc.array(tie('schema'), { maxLength: 2 }),
      fc.dictionary(fc.constantFrom('a', 'b', '__proto__'), tie('schema'), { maxKeys: 2 }),
      tie('schema'),
    ),
    schema: fc.dictionary(keyword, tie('value'), { maxKeys: 4 }).map((s) => s as Schema),
  }))
  const anyValue = fc.jsonValue({ maxDepth: 4 })

  test('validate gives an answer', () => {
    fc.assert(
      fc.property(anySchema, anyValue, anyValue, (schema, value, old) => {
        const validator = createValidator(schema)
        const found = [...validator.validate(value), ...validator.validate(value, { old })]
        expect(found.map(fieldErrorLine).every((line) => line.length > 0)).toBe(true)
      }),
      { numRuns: 300 },
    )
  })

  test('findings do not depend on the order of keys', () => {
    fc.assert(
      fc.property(anySchema, anyValue, (schema, value) => {
        expect(lines(schema, turned(value))).toEqual(lines(schema, value))
        expect(lines(schema, value)).toEqual(lines(Object.fromEntries(Object.entries(schema).toReversed()), value))
      }),
      { numRuns: 200 },
    )
  })

  test('an update that changes nothing the schema knows is never refused for values', () => {
    const known = spec(
      { a: { type: 'string', maxLength: 2 }, l: { type: 'array', items: { type: 'integer' }, maxItems: 1 } },
      { required: ['b'] },
    )
    const value = fc.record({ spec: fc.record({ a: fc.jsonValue({ maxDepth: 0 }), l: fc.array(anyValue) }) })
    fc.assert(
      fc.property(value, (v) => {
        expect(lines(known, v, structuredClone(v))).toEqual([])
      }),
      { numRuns: 200 },
    )
  })
})

/** A copy without recursion. */
function structuredCloneDeep(value: unknown): unknown {
  const layers: ('list' | 'object')[] = []
  let at = value
  for (;;) {
    if (Array.isArray(at)) {
      layers.push('list')
      at = at[0]
    } else if (isObject(at) && 'deep' in at) {
      layers.push('object')
      at = at['deep']
    } else break
  }
  return layers.toReversed().reduce<unknown>((inner, kind) => (kind === 'list' ? [inner] : { deep: inner }), at)
}

/** The same value with the keys of every object the other way round. */
function turned(value: unknown): unknown {
  if (Array.isArray(value)) return value.map(turned)
  if (!isObject(value)) return value
  return Object.fromEntries(
    Object.keys(value)
      .toReversed()
      .map((k) => [k, turned(value[k])]),
  )
}
