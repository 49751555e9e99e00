import fc from 'fast-check'
import { expect, test } from 'vitest'
import { printable, printableLine } from './printable.ts'

test.each([
  ['a color', '\u001b[31mred', '\ufffd[31mred'],
  ['a carriage return that overwrites the line', 'bad\rgood', 'bad\ufffdgood'],
  ['a mark that turns the direction', 'a\u202etxt.exe', 'a\ufffdtxt.exe'],
  ['an Arabic letter mark', 'a\u061cb', 'a\ufffdb'],
  ['a zero-width space', 'adm\u200bin', 'adm\ufffdin'],
  ['a joiner, as in a name that looks like another', 'ad\u200dm\u200cin', 'ad\ufffdm\ufffdin'],
  [
    'fillers, an empty braille cell and a variant',
    '\u3164\uffa0\u115f\u2800a\ufe0f\u034f',
    '\ufffd\ufffd\ufffd\ufffda\ufffd\ufffd',
  ],
  ['variants that carry a message', 'ok\u{e0100}\u{e0141}', 'ok\ufffd\ufffd'],
  ['half a character', 'a\ud800b', 'a\ufffdb'],
  ['invisible tags', 'ok\u{e0041}', 'ok\ufffd'],
  ['a line separator', 'a\u2028b', 'a\ufffdb'],
  ['a GitHub command', '::error::forged', '\ufffd::error::forged'],
  ['an indented GitHub command', 'a\n  ::set-output name=x::y', 'a\n  \ufffd::set-output name=x::y'],
  ['an old GitHub command', 'x ##[add-path]/tmp', 'x #\ufffd#[add-path]/tmp'],
  ['an Azure command', '##vso[task.setvariable]x', '#\ufffd#vso[task.setvariable]x'],
  ['plain text', 'ConfigMap/default/a: b::c → d\t√ 日本\n', 'ConfigMap/default/a: b::c → d\t√ 日本\n'],
  ['an address', '  [::1]:443', '  [::1]:443'],
])('S33 %s', (_, text, wanted) => {
  expect(printable(text)).toBe(wanted)
})

const HOSTILE = fc.array(
  fc.constantFrom(
    '\n',
    '\r',
    '::',
    'error',
    '##',
    '[',
    'vso[',
    ' ',
    '\t',
    '\u001b[2J',
    '\u202e',
    '\u2028',
    'a',
    '\ufeff',
  ),
  { maxLength: 40 },
)

test('S33 whatever it is given, one line stays one line and no runner finds a command in it', () => {
  fc.assert(
    fc.property(HOSTILE, (parts) => {
      const shown = printableLine(parts.join(''))
      expect(shown).not.toMatch(/[\n\r\u2028\u2029\u0085]/)
      expect(shown).not.toMatch(/^\s*::[a-z]/)
      expect(shown).not.toMatch(/##\[|##vso\[/)
      expect(printableLine(shown)).toBe(shown)
    }),
  )
})

test('S33 a hundred thousand empty lines are one look each', () => {
  const lines = '\n'.repeat(100_000)
  expect(printable(`${lines}  ::error::x`)).toBe(`${lines}  \ufffd::error::x`)
})
