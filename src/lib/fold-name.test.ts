import fc from 'fast-check'
import { expect, test } from 'vitest'
import { foldName } from './fold-name.ts'

test.each([
  ['case', 'README', 'readme'],
  ['a sharp s', 'STRASSE', 'straße'],
  ['a capital sharp s', 'STRAẞE', 'strasse'],
  ['a final sigma', 'ΟΔΟΣ', 'οδοσ'],
  ['a long s', 'ſet', 'set'],
  ['a ligature', 'ﬁle', 'file'],
  ['the Kelvin sign', '\u212aey', 'key'],
  ['a composed accent', 'caf\u00e9', 'cafe\u0301'],
  ['a composed accent in capitals', 'CAF\u00c9', 'cafe\u0301'],
  ['a joiner', 'a\u034fb', 'ab'],
  ['a variation selector', 'a\ufe0f', 'a'],
  ['a small iota below', '\u1fb3', 'ΑΙ'],
])('names that differ in %s only are one', (_, a, b) => {
  expect(foldName(a)).toBe(foldName(b))
})

test('other names stay apart, and folding twice changes nothing', () => {
  expect(foldName('a')).not.toBe(foldName('b'))
  expect(foldName('cafe')).not.toBe(foldName('café'))
  fc.assert(
    fc.property(fc.string({ unit: 'grapheme', maxLength: 20 }), (text) => {
      expect(foldName(foldName(text))).toBe(foldName(text))
      expect(foldName(text.toUpperCase())).toBe(foldName(text))
    }),
  )
})
