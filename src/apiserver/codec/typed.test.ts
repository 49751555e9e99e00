import { describe, expect, test } from 'vitest'
import {
  always,
  bool,
  bytes,
  int32,
  intOrString,
  listOf,
  mapOf,
  microTime,
  pointer,
  quantity,
  str,
  struct,
  time,
} from '../builtin/shape.ts'
import { readTyped } from './typed.ts'

const schema = struct('Thing', {
  name: str,
  count: int32,
  replicas: pointer(int32),
  on: bool,
  labels: mapOf(str),
  at: time,
  exact: microTime,
  raw: bytes,
  port: intOrString,
  resources: mapOf(quantity),
  rules: always(listOf(str)),
  status: always(struct('ThingStatus', { phase: always(str) })),
  parts: listOf(struct('Part', { id: str, size: pointer(int32) })),
  limits: struct('Limits', { max: int32 }, { 'x-go-field': 'pointer' }),
})
const read = (value: unknown) => readTyped(schema, value).value
const error = (value: unknown): string => {
  try {
    read(value)
    return 'none'
  } catch (e) {
    return e instanceof Error ? e.message : ''
  }
}
const EMPTY = { rules: null, status: { phase: '' } }

describe('empty values', () => {
  test.each([
    ['what was not said is left out, but for fields that are always written', {}, EMPTY],
    ['zeros vanish from plain fields', { name: '', count: 0, on: false, labels: {}, parts: [] }, EMPTY],
    ['zeros stay behind pointers', { replicas: 0, limits: {} }, { ...EMPTY, replicas: 0, limits: {} }],
    ['null is nothing', { name: null, replicas: null, labels: null, rules: null }, EMPTY],
    ['null in a map of texts is an empty text', { labels: { a: null } }, { ...EMPTY, labels: { a: '' } }],
    ['null in a list of structs is an empty struct', { parts: [null] }, { ...EMPTY, parts: [{}] }],
  ])('%s', (_, given, want) => expect(read(given)).toEqual(want))
})

describe('canonical forms', () => {
  test.each([
    [{ at: '2024-01-02T03:04:05.678+02:00' }, { at: '2024-01-02T01:04:05Z' }],
    [{ exact: '2024-01-02T03:04:05.123456+02:00' }, { exact: '2024-01-02T01:04:05.123456Z' }],
    [{ resources: { cpu: '0.5', memory: '1024Ki', n: 2 } }, { resources: { cpu: '500m', memory: '1Mi', n: '2' } }],
    [{ port: 80 }, { port: 80 }],
    [{ port: 'http' }, { port: 'http' }],
  ])('%j', (given, want) => expect(read(given)).toEqual({ ...EMPTY, ...want }))
})

describe('errors in the words of Go', () => {
  test.each([
    [{ count: 'x' }, 'json: cannot unmarshal string into Go struct field Thing.count of type int32'],
    [{ count: 1.5 }, 'json: cannot unmarshal number 1.5 into Go struct field Thing.count of type int32'],
    [
      { count: 3_000_000_000 },
      'json: cannot unmarshal number 3000000000 into Go struct field Thing.count of type int32',
    ],
    [{ labels: { n: 5 } }, 'json: cannot unmarshal number into Go struct field Thing.labels of type string'],
    [{ labels: [] }, 'json: cannot unmarshal array into Go struct field Thing.labels of type map[string]string'],
    [{ parts: [{ id: true }] }, 'json: cannot unmarshal bool into Go struct field Part.parts.id of type string'],
    [
      { resources: { cpu: 'lots' } },
      "quantities must match the regular expression '^([+-]?[0-9.]+)([eEinumkKMGTP]*[-+]?[0-9]*)$'",
    ],
    [
      { exact: '2024-01-02T03:04:05Z' },
      'parsing time "2024-01-02T03:04:05Z" as "2006-01-02T15:04:05.000000Z07:00": cannot parse "Z" as ".000000"',
    ],
    [
      { at: 'yesterday' },
      'parsing time "yesterday" as "2006-01-02T15:04:05Z07:00": cannot parse "yesterday" as "2006"',
    ],
    [{ raw: '!!' }, 'illegal base64 data at input byte 0'],
  ])('%j', (given, want) => expect(error(given)).toBe(want))
})

test('unknown fields are dropped and reported with their path', () => {
  const { value, unknownFields } = readTyped(schema, { name: 'a', parts: [{ id: 'x', odd: 1 }], Name: 'b' })
  expect(value).toEqual({ ...EMPTY, name: 'a', parts: [{ id: 'x' }] })
  expect(unknownFields).toEqual(['parts[0].odd', 'Name'])
})

test('a key that would reach the prototype is data', () => {
  const { value } = readTyped(schema, JSON.parse('{"labels":{"__proto__":"x"}}'))
  expect(JSON.stringify(value['labels'])).toBe('{"__proto__":"x"}')
  expect(({} as Record<string, unknown>)['x']).toBeUndefined()
})
