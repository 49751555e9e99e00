import { expect, test } from 'vitest'
import { fitTexts } from './fit-texts.ts'
import type { Schema } from './schema.ts'

const text = (more: Partial<Schema> = {}): Schema => ({ type: 'string', maxLength: 5, ...more })
const schema: Schema = {
  type: 'object',
  properties: {
    message: text(),
    name: text({ pattern: '^[a-z]+$' }),
    word: text({ enum: ['longer than five'] }),
    at: text({ format: 'date-time' }),
    lines: { type: 'array', items: text() },
    parts: {
      type: 'array',
      'x-kubernetes-list-map-keys': ['key'],
      items: { type: 'object', properties: { key: text(), message: text() } },
    },
    byName: { type: 'object', additionalProperties: text() },
  },
}

test.each([
  ['a sentence', { message: 'abcdef' }, { message: 'abcd…' }],
  ['a sentence of a list', { lines: ['abc', 'abcdef'] }, { lines: ['abc', 'abcd…'] }],
  ['one in an object of a list', { parts: [{ message: 'abcdef' }] }, { parts: [{ message: 'abcd…' }] }],
  ['one under a name', { byName: { x: 'abcdef' } }, { byName: { x: 'abcd…' } }],
  ['characters that are two units of a string', { message: '😀😀😀😀😀😀' }, { message: '😀😀😀😀…' }],
])('%s is cut to what its field allows, and the cut is marked', (_, value, want) =>
  expect(fitTexts(schema, value)).toEqual(want),
)

test.each([
  ['what has a form', { name: 'abcdef', word: 'longer than five', at: '2030-01-01T00:00:00Z' }],
  ['the key of a list', { parts: [{ key: 'abcdef', message: 'abc' }] }],
  ['what fits', { message: 'abcde', lines: ['abcde'], parts: [{ key: 'a', message: '😀😀😀😀😀' }] }],
  ['what the schema does not know', { other: 'abcdef', message: 7, lines: 'abcdef' }],
  ['nothing', undefined],
])('%s is the very same afterwards', (_, value) => expect(fitTexts(schema, value)).toBe(value))
