import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import { cloneJson } from '#lib/json.ts'
import { prune, type PruneOptions } from './prune.ts'
import type { Schema } from './schema.ts'

const text: Schema = { type: 'string' }
const open = { 'x-kubernetes-preserve-unknown-fields': true } as const

interface Case {
  readonly schema: Schema
  readonly value: unknown
  readonly pruned: unknown
  readonly unknown?: readonly string[]
  readonly options?: PruneOptions
}

const CASES: Readonly<Record<string, Case>> = {
  'drops unknown fields at every level and names them sorted': {
    schema: {
      type: 'object',
      properties: {
        spec: {
          type: 'object',
          properties: { a: text, l: { type: 'array', items: { type: 'object', properties: { x: text } } } },
        },
      },
    },
    value: { spec: { z: 1, a: '1', l: [{ x: '1', y: 2 }] }, b: 1 },
    pruned: { spec: { a: '1', l: [{ x: '1' }] } },
    unknown: ['b', 'spec.l[0].y', 'spec.z'],
  },
  'drops the fields that every object has without a word, at the root of a value that is no object of its own': {
    schema: { type: 'object', properties: { spec: { type: 'object' } } },
    value: { apiVersion: 'v1', metadata: {}, spec: { kind: 'A' } },
    pruned: { spec: {} },
    unknown: ['spec.kind'],
  },
  'keeps the fields that every object has, at the root': {
    schema: { type: 'object', properties: {} },
    value: { apiVersion: 'v1', kind: 'A', metadata: { anything: 1 }, spec: {} },
    pruned: { apiVersion: 'v1', kind: 'A', metadata: { anything: 1 } },
    unknown: ['spec'],
    options: { embeddedRoot: true },
  },
  'keeps the same fields of an embedded object': {
    schema: {
      type: 'object',
      properties: {
        t: {
          type: 'object',
          'x-kubernetes-embedded-resource': true,
          properties: { spec: { type: 'object', properties: { a: text } } },
        },
      },
    },
    value: { t: { apiVersion: 'v1', kind: 'A', metadata: { labels: { a: 'b' } }, spec: { a: '1', b: 2 }, data: 1 } },
    pruned: { t: { apiVersion: 'v1', kind: 'A', metadata: { labels: { a: 'b' } }, spec: { a: '1' } } },
    unknown: ['t.data', 't.spec.b'],
  },
  'keeps what is unknown where the schema says so, and prunes the known below it': {
    schema: { type: 'object', ...open, properties: { known: { type: 'object', properties: { a: text } } } },
    value: { free: { b: 1 }, known: { a: '1', b: 2 } },
    pruned: { free: { b: 1 }, known: { a: '1' } },
    unknown: ['known.b'],
  },
  'keeps any name of a map': {
    schema: { type: 'object', additionalProperties: { type: 'object', properties: { a: text } } },
    value: { x: { a: '1', b: 2 }, y: {} },
    pruned: { x: { a: '1' }, y: {} },
    unknown: ['x.b'],
  },
  'empties the objects of a map that says nothing about its values': {
    schema: { type: 'object', additionalProperties: true },
    value: { a: 1, o: { b: 1 }, l: [{ c: 1 }, 2] },
    pruned: { a: 1, o: {}, l: [{}, 2] },
    unknown: ['l[0].c', 'o.b'],
  },
  'looks into the items of a list that keeps the unknown': {
    schema: {
      type: 'array',
      ...open,
      items: { type: 'object', properties: { a: { type: 'object', properties: {} } } },
    },
    value: [{ free: 1, a: { b: 1 } }],
    pruned: [{ free: 1, a: {} }],
    unknown: ['[0].a.b'],
  },
  'drops a null where none may be, keeps one that is allowed, and leaves one that has a default to it': {
    schema: { type: 'object', properties: { a: text, b: { ...text, nullable: true }, c: { ...text, default: 'x' } } },
    value: { a: null, b: null, c: null },
    pruned: { b: null, c: null },
  },
  'leaves nulls in lists for validation to find, and drops those of maps': {
    schema: {
      type: 'object',
      properties: { l: { type: 'array', items: text }, m: { type: 'object', additionalProperties: text } },
    },
    value: { l: [null], m: { a: null, b: '1' } },
    pruned: { l: [null], m: { b: '1' } },
  },
  'takes a value of another type as it is': {
    schema: { type: 'object', properties: { a: { type: 'object', properties: { b: text } } } },
    value: { a: 'text' },
    pruned: { a: 'text' },
  },
  'takes prototype names as names like any other': {
    schema: JSON.parse(
      '{"type":"object","properties":{"__proto__":{"type":"object","properties":{"a":{"type":"string"}}}}}',
    ),
    value: JSON.parse('{"__proto__":{"a":"1","b":2},"constructor":{"prototype":{}},"toString":1}'),
    pruned: JSON.parse('{"__proto__":{"a":"1"}}'),
    unknown: ['__proto__.b', 'constructor', 'toString'],
  },
}

describe('prune', () => {
  test.each(Object.entries(CASES))('%s', (_, { schema, value, pruned, unknown = [], options }) => {
    const before = cloneJson(value)
    const result = prune(schema, value, options)
    expect(JSON.stringify(result.value)).toBe(JSON.stringify(pruned))
    expect(result.unknownFields).toEqual(unknown)
    expect(value).toEqual(before)
  })

  test('gives back the very value when there is nothing to drop', () => {
    const value = { apiVersion: 'v1', spec: { a: '1', l: [{ x: 1 }] } }
    const schema: Schema = {
      type: 'object',
      properties: { spec: { type: 'object', properties: { a: text, l: { type: 'array', items: { ...open } } } } },
    }
    expect(prune(schema, value, { embeddedRoot: true }).value).toBe(value)
  })

  test('ends on lists nested deeper than any stack', () => {
    let deep: unknown = { x: 1 }
    for (let i = 0; i < 100_000; i++) deep = [deep]
    expect(prune({ type: 'object', additionalProperties: true }, { a: deep }).unknownFields).toEqual([])
  })

  test('is a fixed point: pruning again drops nothing', () => {
    fc.assert(
      fc.property(fc.jsonValue(), fc.boolean(), (value, embeddedRoot) => {
        const schema =
          CASES['keeps what is unknown where the schema says so, and prunes the known below it']?.schema ?? {}
        const nested: Schema = {
          type: 'object',
          properties: { a: schema, b: { type: 'array', items: schema } },
          additionalProperties: schema,
        }
        const once = prune(nested, value, { embeddedRoot })
        const twice = prune(nested, once.value, { embeddedRoot })
        expect(twice.value).toBe(once.value)
        expect(twice.unknownFields).toEqual([])
      }),
      { numRuns: 200 },
    )
  })
})
