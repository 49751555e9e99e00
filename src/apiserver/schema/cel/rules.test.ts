import { describe, expect, it } from 'vitest'
import { toCause } from '../field-error.ts'
import type { CelRule, Schema } from '#api/schema/schema.ts'
import { compileSchemaRules } from './rules.ts'
import { type RuleLimits, validateRules } from './run-rules.ts'

const PATH = 'spec.validation.openAPIV3Schema'

/** A resource whose spec has these properties and rules. */
const resource = (properties: Record<string, Schema>, ...rules: CelRule[]): Schema => ({
  type: 'object',
  properties: { spec: { type: 'object', properties, 'x-kubernetes-validations': rules } },
})

const causesOf = (schema: Schema) => compileSchemaRules(schema, { path: PATH }).problems.map(toCause)

function find(schema: Schema, value: unknown, old?: unknown, limits?: RuleLimits) {
  const { tree, problems } = compileSchemaRules(schema)
  expect(problems).toEqual([])
  return validateRules(tree, value, old, limits).errors.map(toCause)
}

const integer: Schema = { type: 'integer' }
const text: Schema = { type: 'string', maxLength: 10 }
const SPEC = `${PATH}.properties[spec].x-kubernetes-validations[0]`

/** What a kube-apiserver 1.36 said to the same schemas. */
describe('problems of schemas, as recorded', () => {
  it('a rule must be a bool', () => {
    expect(causesOf(resource({ a: integer }, { rule: 'self.a + 1' }))).toEqual([
      {
        reason: 'FieldValueInvalid',
        message:
          'Invalid value: {"Rule":"self.a + 1","Message":"","MessageExpression":"","Reason":null,"FieldPath":"","OptionalOldSelf":null}: cel expression must evaluate to a bool',
        field: `${SPEC}.rule`,
      },
    ])
  })

  it('a messageExpression must be a string', () => {
    expect(causesOf(resource({ a: integer }, { rule: 'self.a > 1', messageExpression: 'self.a' }))).toEqual([
      {
        reason: 'FieldValueInvalid',
        message:
          'Invalid value: {"Rule":"self.a \\u003e 1","Message":"","MessageExpression":"self.a","Reason":null,"FieldPath":"","OptionalOldSelf":null}: messageExpression must evaluate to a string',
        field: `${SPEC}.messageExpression`,
      },
    ])
  })

  it('an unknown reason is not supported', () => {
    const rule = JSON.parse('{"rule": "self.a > 1", "reason": "Because"}') as CelRule
    expect(causesOf(resource({ a: integer }, rule))).toEqual([
      {
        reason: 'FieldValueNotSupported',
        message:
          'Unsupported value: "Because": supported values: "FieldValueDuplicate", "FieldValueForbidden", "FieldValueInvalid", "FieldValueRequired"',
        field: `${SPEC}.reason`,
      },
    ])
  })

  it('a fieldPath must lead somewhere', () => {
    expect(causesOf(resource({ a: integer }, { rule: 'self.a > 1', fieldPath: '.zz' }))).toEqual([
      {
        reason: 'FieldValueInvalid',
        message: 'Invalid value: ".zz": must be a valid path',
        field: `${SPEC}.fieldPath`,
      },
    ])
  })

  it('oldSelf has no meaning in the items of an atomic list', () => {
    const item: Schema = {
      type: 'object',
      properties: { x: integer },
      'x-kubernetes-validations': [{ rule: 'self.x >= oldSelf.x' }],
    }
    const at = `${PATH}.properties[spec].properties[a]`
    expect(causesOf(resource({ a: { type: 'array', items: item } }))).toEqual([
      {
        reason: 'FieldValueInvalid',
        message: `Invalid value: "self.x >= oldSelf.x": oldSelf cannot be used on the uncorrelatable portion of the schema within ${at}`,
        field: `${at}.items.x-kubernetes-validations[0].rule`,
      },
    ])
  })

  it('of metadata only the names can be read', () => {
    const rule = { rule: "self.metadata.labels['a'] == 'b'" }
    const schema: Schema = {
      type: 'object',
      properties: { spec: { type: 'object' } },
      'x-kubernetes-validations': [rule],
    }
    expect(causesOf(schema)).toEqual([
      {
        reason: 'FieldValueInvalid',
        message: `Invalid value: {"Rule":"self.metadata.labels['a'] == 'b'","Message":"","MessageExpression":"","Reason":null,"FieldPath":"","OptionalOldSelf":null}: compilation failed: ERROR: <input>:1:14: undefined field 'labels'\n | self.metadata.labels['a'] == 'b'\n | .............^`,
        field: `${PATH}.x-kubernetes-validations[0].rule`,
      },
    ])
  })
})

describe('rules that may cost too much', () => {
  const advice =
    '(try simplifying the rule, or adding maxItems, maxProperties, and maxLength where arrays, maps, and strings are declared)'
  const say = "'min ' + string(self.min) + ' is over ' + string(self.max)"
  const rule: CelRule = { rule: 'self.min <= self.max', messageExpression: say, message: 'fallback' }
  const list = (bounds: Schema, item: Schema = text): Schema =>
    resource(
      { l: { type: 'array', items: item, ...bounds } },
      { rule: 'self.l.all(x, self.l.all(y, x.size() + y.size() < 100))' },
    )

  it('a message of unbounded parts, as recorded', () => {
    expect(causesOf(resource({ min: integer, max: integer }, rule))).toEqual([
      {
        reason: 'FieldValueForbidden',
        message: `Forbidden: estimated messageExpression cost exceeds budget by factor of more than 100x ${advice}`,
        field: `${SPEC}.messageExpression`,
      },
      {
        reason: 'FieldValueForbidden',
        message: 'Forbidden: contributed to estimated rule cost total exceeding cost limit for entire OpenAPIv3 schema',
        field: `${SPEC}.messageExpression`,
      },
      {
        reason: 'FieldValueForbidden',
        message: `Forbidden: x-kubernetes-validations estimated rule cost total for entire OpenAPIv3 schema exceeds budget by factor of more than 100x ${advice}`,
        field: PATH,
      },
    ])
  })

  it('a loop in a loop needs bounds', () => {
    expect(causesOf(list({})).map((c) => c.field)).toEqual([`${SPEC}.rule`, `${SPEC}.rule`, PATH])
    expect(causesOf(list({ maxItems: 10 }))).toEqual([])
  })

  it('a cheap rule on each of unbounded many is weighed by their number', () => {
    const item: Schema = {
      ...text,
      maxLength: 1000,
      'x-kubernetes-validations': [{ rule: "self.matches('^[a-z]+$')" }],
    }
    expect(causesOf(resource({ l: { type: 'array', items: item } })).length).toBeGreaterThan(0)
    expect(causesOf(resource({ l: { type: 'array', items: item, maxItems: 100 } }))).toEqual([])
  })
})

const MALFORMED: readonly (readonly [string, CelRule, string, string])[] = [
  ['an empty rule', { rule: ' ' }, 'rule', 'Required value: rule is not specified'],
  ['an empty message', { rule: 'true', message: ' ' }, 'message', 'Invalid value: " ": must be non-empty if specified'],
  [
    'a message of two lines',
    { rule: 'true', message: 'a\nb' },
    'message',
    'Invalid value: "a\\nb": must not contain line breaks',
  ],
  [
    'a rule of two lines without message',
    { rule: 'true\n&& true' },
    'message',
    'Required value: message must be specified if rule contains line breaks',
  ],
  [
    'an empty messageExpression',
    { rule: 'true', messageExpression: ' ' },
    'messageExpression',
    'Required value: messageExpression must be non-empty if specified',
  ],
  [
    'optionalOldSelf without oldSelf',
    { rule: 'self.a > 0', optionalOldSelf: true },
    'optionalOldSelf',
    'Invalid value: true: may not be set if oldSelf is not used in rule',
  ],
]

describe('malformed rules', () => {
  it.each(MALFORMED)('%s', (_, rule, where, message) => {
    const [cause, ...more] = causesOf(resource({ a: integer }, rule))
    expect(more).toEqual([])
    expect(cause).toMatchObject({ field: `${SPEC}.${where}`, message })
  })

  it('are found in every corner, and a good schema has none', () => {
    const bad: Schema = { type: 'string', 'x-kubernetes-validations': [{ rule: 'self.foo' }] }
    const schema = resource({
      list: { type: 'array', items: bad },
      map: { type: 'object', additionalProperties: bad },
      ok: { type: 'string', 'x-kubernetes-validations': [{ rule: 'self.size() > 0' }] },
    })
    expect(causesOf(schema).map((c) => c.field)).toEqual([
      `${PATH}.properties[spec].properties[list].items.x-kubernetes-validations[0].rule`,
      `${PATH}.properties[spec].properties[map].additionalProperties.x-kubernetes-validations[0].rule`,
    ])
  })
})

const invalidSpec = (message: string) => [{ reason: 'FieldValueInvalid', field: 'spec', message }]

describe('what rules find', () => {
  const range = resource({ min: integer, max: integer }, { rule: 'self.min <= self.max', message: 'min over max' })

  it('a rule that holds says nothing', () => {
    expect(find(range, { spec: { min: 1, max: 2 } })).toEqual([])
  })

  it('a rule that fails gives its message, without the value of an object', () => {
    expect(find(range, { spec: { min: 3, max: 2 } })).toEqual(invalidSpec('Invalid value: min over max'))
  })

  it('without a message the rule itself is shown', () => {
    const schema = resource({ a: integer }, { rule: 'self.a > 1' })
    expect(find(schema, { spec: { a: 1 } })).toEqual(invalidSpec('Invalid value: failed rule: self.a > 1'))
  })

  it('the value of a scalar is shown', () => {
    const schema = resource({ a: { ...integer, 'x-kubernetes-validations': [{ rule: 'self > 1' }] } })
    expect(find(schema, { spec: { a: 1 } })).toEqual([
      { reason: 'FieldValueInvalid', field: 'spec.a', message: 'Invalid value: 1: failed rule: self > 1' },
    ])
  })

  it('a messageExpression speaks, and where it fails the message does', () => {
    const rule = (messageExpression: string) =>
      resource({ a: integer, b: text, c: text }, { rule: 'self.a > 1', messageExpression, message: 'plain' })
    const value = { spec: { a: 1, c: 'x' } }
    expect(find(rule("'c is ' + self.c"), value)).toEqual(invalidSpec('Invalid value: c is x'))
    expect(find(rule("'b is ' + self.b"), value)).toEqual(invalidSpec('Invalid value: plain'))
    expect(find(rule("'two\\nlines'"), value)).toEqual(invalidSpec('Invalid value: plain'))
  })

  it('reason and fieldPath shape the cause', () => {
    const rule: CelRule = { rule: 'self.a > 1', message: 'no', reason: 'FieldValueForbidden', fieldPath: '.b' }
    expect(find(resource({ a: integer, b: integer }, rule), { spec: { a: 1 } })).toEqual([
      { reason: 'FieldValueForbidden', field: 'spec.b', message: 'Forbidden: no' },
    ])
  })

  it('an error of the evaluation is a finding', () => {
    const schema = resource({ a: integer, b: integer }, { rule: 'self.b > 1' })
    expect(find(schema, { spec: { a: 1 } })).toEqual(
      invalidSpec('Invalid value: "object": no such key: b evaluating rule: self.b > 1'),
    )
  })

  it('int-or-string is known at run time only', () => {
    const port: Schema = { 'x-kubernetes-int-or-string': true }
    const schema = resource({ port }, { rule: 'self.port > 5' })
    expect(find(schema, { spec: { port: 80 } })).toEqual([])
    expect(find(schema, { spec: { port: 'http' } })).toEqual(
      invalidSpec(
        `Invalid value: "object": 'no such overload': call arguments did not match a supported operator, function or macro signature for rule: self.port > 5`,
      ),
    )
  })

  it('names that are no identifiers are escaped', () => {
    const schema = resource(
      { 'a-b': integer, namespace: text },
      { rule: "self.a__dash__b == 1 && self.__namespace__ == 'x'" },
    )
    expect(find(schema, { spec: { 'a-b': 1, namespace: 'x' } })).toEqual([])
  })

  it('integers beyond 2^53 stay exact', () => {
    const schema = resource({ a: integer }, { rule: 'self.a == 9007199254740993' })
    expect(find(schema, { spec: { a: 9007199254740993n } })).toEqual([])
  })

  it('properties that are called like parts of a prototype are properties', () => {
    const properties = JSON.parse('{"__proto__": {"type": "integer"}, "constructor": {"type": "integer"}}') as Record<
      string,
      Schema
    >
    const rule = 'self.__underscores__proto__underscores__ == 1 && !has(self.constructor)'
    expect(find(resource(properties, { rule }), JSON.parse('{"spec": {"__proto__": 1}}'))).toEqual([])
    expect(find(resource(properties, { rule: '!has(self.constructor)' }), { spec: {} })).toEqual([])
  })

  it('rules inside allOf run with the types around them', () => {
    const schema: Schema = {
      ...resource({ a: integer }),
      allOf: [{ properties: { spec: { properties: { a: { 'x-kubernetes-validations': [{ rule: 'self > 1' }] } } } } }],
    }
    expect(find(schema, { spec: { a: 1 } }).map((c) => c.field)).toEqual(['spec.a'])
  })
})

describe('comparison with the old object', () => {
  const immutable = resource({ a: integer, b: integer }, { rule: 'self.a == oldSelf.a', message: 'a is immutable' })

  it('a transition rule is silent on creation and speaks on update', () => {
    expect(find(immutable, { spec: { a: 1 } })).toEqual([])
    expect(find(immutable, { spec: { a: 1 } }, { spec: { a: 1 } })).toEqual([])
    expect(find(immutable, { spec: { a: 1 } }, { spec: { a: 2 } })).toEqual(
      invalidSpec('Invalid value: a is immutable'),
    )
    expect(find(immutable, { spec: { a: 1 } }, {})).toEqual([])
  })

  it('optionalOldSelf runs on creation too', () => {
    const rule = { rule: 'oldSelf.hasValue() || self.a == 0', optionalOldSelf: true }
    const schema = resource({ a: integer }, rule)
    expect(find(schema, { spec: { a: 1 } })).toHaveLength(1)
    expect(find(schema, { spec: { a: 1 } }, { spec: { a: 5 } })).toEqual([])
  })

  it('elements of a list with keys meet their old selves by key', () => {
    const item: Schema = {
      type: 'object',
      required: ['name'],
      properties: { name: text, n: integer },
      'x-kubernetes-validations': [{ rule: 'self.n >= oldSelf.n' }],
    }
    const schema = resource({
      list: { type: 'array', items: item, 'x-kubernetes-list-type': 'map', 'x-kubernetes-list-map-keys': ['name'] },
    })
    const old = {
      spec: {
        list: [
          { name: 'a', n: 1 },
          { name: 'b', n: 5 },
        ],
      },
    }
    const value = {
      spec: {
        list: [
          { name: 'b', n: 4 },
          { name: 'c', n: 0 },
          { name: 'a', n: 1 },
        ],
      },
    }
    expect(find(schema, value, old).map((c) => c.field)).toEqual(['spec.list[0]'])
  })

  it('findings about what did not change are let go, those about what changed are not', () => {
    const positive: Schema = { ...integer, 'x-kubernetes-validations': [{ rule: 'self > 0' }] }
    const { tree } = compileSchemaRules(resource({ a: positive, b: positive }))
    const findings = validateRules(tree, { spec: { a: -1, b: -2 } }, { spec: { a: -1, b: 3 } })
    expect(findings.errors.map((e) => e.field)).toEqual(['spec.b'])
    expect(findings.ratcheted.map((e) => e.field)).toEqual(['spec.a'])
  })

  it('an unchanged atomic list lets go of findings about its elements', () => {
    const item: Schema = { ...integer, 'x-kubernetes-validations': [{ rule: 'self > 0' }] }
    const schema = resource({ list: { type: 'array', items: item }, other: integer })
    expect(find(schema, { spec: { list: [-1], other: 2 } }, { spec: { list: [-1], other: 1 } })).toEqual([])
    expect(find(schema, { spec: { list: [-1, 1] } }, { spec: { list: [-1] } })).toHaveLength(1)
  })

  it('sets and lists with keys are equal in any order', () => {
    const set: Schema = { type: 'array', items: text, 'x-kubernetes-list-type': 'set' }
    const schema = resource({ set }, { rule: 'self.set == oldSelf.set' })
    expect(find(schema, { spec: { set: ['a', 'b'] } }, { spec: { set: ['b', 'a'] } })).toEqual([])
    expect(find(schema, { spec: { set: ['a', 'c'] } }, { spec: { set: ['b', 'a'] } })).toHaveLength(1)
  })
})

describe('cost', () => {
  const list = Array.from({ length: 500 }, (_, i) => i)
  const nested = resource(
    { list: { type: 'array', items: integer, maxItems: 500 } },
    { rule: 'self.list.all(x, self.list.all(y, x + y >= 0))' },
  )

  it('a rule over its limit is cut off and ends the validation', () => {
    expect(find(nested, { spec: { list } }, undefined, { costLimit: 10_000 })).toEqual(
      invalidSpec(
        `Invalid value: "object": 'operation cancelled: actual cost limit exceeded': no further validation rules will be run due to call cost exceeds limit for rule: self.list.all(x, self.list.all(y, x + y >= 0))`,
      ),
    )
  })

  it('the budget of the whole object ends the validation', () => {
    const rules = ['self.a > 0', 'self.a > -1', 'self.a > -2'].map((rule) => ({ rule }))
    expect(find(resource({ a: integer }, ...rules), { spec: { a: 1 } }, undefined, { budget: 5 })).toEqual(
      invalidSpec(
        'Invalid value: "object": validation failed due to running out of cost budget, no further validation rules will be run',
      ),
    )
  })
})
