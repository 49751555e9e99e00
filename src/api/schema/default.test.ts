import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import { cloneJson, isObject } from '#lib/json.ts'
import { applyDefaults } from './default.ts'
import type { Schema } from './schema.ts'

const counted: Schema = { type: 'integer', default: 1 }
const named: Schema = { type: 'object', properties: { n: counted } }

const CASES: Readonly<Record<string, readonly [Schema, unknown, unknown]>> = {
  'fills an absent field': [named, {}, { n: 1 }],
  'leaves a field that is there': [named, { n: 0 }, { n: 0 }],
  'replaces a null that may not be': [named, { n: null }, { n: 1 }],
  'leaves a null that is allowed': [
    { type: 'object', properties: { n: { ...counted, nullable: true } } },
    { n: null },
    { n: null },
  ],
  'leaves what is below an absent field absent': [{ type: 'object', properties: { spec: named } }, {}, {}],
  'fills below a default': [
    { type: 'object', properties: { spec: { ...named, default: {} } } },
    {},
    { spec: { n: 1 } },
  ],
  'fills in items of lists and values of maps': [
    {
      type: 'object',
      properties: { l: { type: 'array', items: named }, m: { type: 'object', additionalProperties: named } },
    },
    { l: [{}, { n: 2 }], m: { a: {} } },
    { l: [{ n: 1 }, { n: 2 }], m: { a: { n: 1 } } },
  ],
  'replaces nulls in lists and maps by the default of their values': [
    {
      type: 'object',
      properties: { l: { type: 'array', items: counted }, m: { type: 'object', additionalProperties: counted } },
    },
    { l: [null, 2], m: { a: null } },
    { l: [1, 2], m: { a: 1 } },
  ],
  'takes a null default for none': [{ type: 'object', properties: { n: { type: 'string', default: null } } }, {}, {}],
  'takes prototype names as names like any other': [
    JSON.parse(
      '{"type":"object","properties":{"__proto__":{"type":"string","default":"x"},"toString":{"type":"string","default":"y"}}}',
    ),
    {},
    JSON.parse('{"__proto__":"x","toString":"y"}'),
  ],
  'takes a value of another type as it is': [named, 'text', 'text'],
}

describe('applyDefaults', () => {
  test.each(Object.entries(CASES))('%s', (_, [schema, value, filled]) => {
    const before = cloneJson(value)
    expect(JSON.stringify(applyDefaults(schema, value))).toBe(JSON.stringify(filled))
    expect(value).toEqual(before)
  })

  test('shares what it did not change, and nothing with the schema', () => {
    const schema: Schema = {
      type: 'object',
      properties: { a: named, b: named, c: { type: 'object', default: { x: 1 } } },
    }
    const value = { a: { n: 5 }, b: {} }
    const filled = applyDefaults(schema, value)
    expect(isObject(filled) && filled['a']).toBe(value.a)
    expect(isObject(filled) && filled['c']).not.toBe(schema.properties?.['c']?.default)
    expect(applyDefaults(schema, filled)).toBe(filled)
  })

  test('is a fixed point: filling again changes nothing', () => {
    const schema: Schema = {
      type: 'object',
      properties: { a: named, b: { type: 'array', items: { ...named, default: {} } } },
      additionalProperties: { ...named, default: { n: 3 } },
    }
    fc.assert(
      fc.property(fc.jsonValue(), (value) => {
        const once = applyDefaults(schema, value)
        expect(applyDefaults(schema, once)).toBe(once)
      }),
      { numRuns: 200 },
    )
  })
})
