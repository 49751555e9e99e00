import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import { formatJson, parseJson } from './json.ts'
import { goSyntaxError, hasDuplicateKeys, scanDuplicates } from './json-scan.ts'

describe('numbers', () => {
  test.each([
    ['9007199254740993', '9007199254740993'],
    ['9007199254740991', '9007199254740991'],
    ['9007199254740992', '9007199254740992'],
    ['-9007199254740993', '-9007199254740993'],
    ['-9223372036854775808', '-9223372036854775808'],
    ['9223372036854775807', '9223372036854775807'],
    ['9223372036854775808', '9223372036854776000'],
    ['1.0', '1'],
    ['1e21', '1e+21'],
    ['-0', '0'],
    ['"12345678901234567890"', '"12345678901234567890"'],
  ])('%s is written back as %s', (given, want) => expect(formatJson(parseJson(given))).toBe(want))

  test('any integer of 64 bits comes back exactly, wherever it stands', () => {
    fc.assert(
      fc.property(fc.bigInt(-(2n ** 63n), 2n ** 63n - 1n), (n) => {
        const text = `{"a":[${n}]}`
        expect(formatJson(parseJson(text))).toBe(text)
      }),
    )
  })
})

describe('text', () => {
  test('what could end a script or a line is escaped as Go does', () =>
    expect(formatJson({ a: '<&>\u2028' })).toBe(String.raw`{"a":"\u003c\u0026\u003e\u2028"}`))

  test('a lone surrogate becomes the replacement character', () =>
    expect(parseJson(String.raw`{"\udc00":"a\ud800"}`)).toEqual({ '\ufffd': 'a\ufffd' }))

  test('a pair of surrogates is one character', () => expect(parseJson(String.raw`"\ud83d\ude00"`)).toBe('😀'))
})

describe('keys that stand twice', () => {
  test.each([
    ['{"a":1,"a":2}', { a: 2 }, ['a']],
    ['{"d":{"k":"1"},"d":{"l":"2"}}', { d: { k: '1', l: '2' } }, ['d']],
    ['{"x":[{"a":1},{"b":1,"b":2}]}', { x: [{ a: 1 }, { b: 2 }] }, ['x[1].b']],
    [String.raw`{"a\"b":1,"c":"{\"c\":1}"}`, { 'a"b': 1, c: '{"c":1}' }, []],
  ])('%s', (text, value, duplicates) => {
    expect(hasDuplicateKeys(text, JSON.parse(text))).toBe(duplicates.length > 0)
    expect(scanDuplicates(text, parseJson)).toEqual({ value, duplicates })
  })

  test('a text without them is read as the engine reads it', () => {
    fc.assert(
      fc.property(fc.jsonValue(), (value) => {
        const text = JSON.stringify(value, null, 1)
        expect(hasDuplicateKeys(text, JSON.parse(text))).toBe(false)
        expect(scanDuplicates(text, parseJson).value).toEqual(parseJson(text))
      }),
    )
  })
})

describe('syntax errors in the words of Go', () => {
  test.each([
    ['', 'unexpected end of JSON input'],
    ['{"a":1', 'unexpected end of JSON input'],
    ['{"a":1}x', "invalid character 'x' after top-level value"],
    ['{"a":1/*', "invalid character '/' after object key:value pair"],
    ['{a:1}', "invalid character 'a' looking for beginning of object key string"],
    ['{"a" 1}', "invalid character '1' after object key"],
    ['[1 2]', "invalid character '2' after array element"],
    ['data: x', "invalid character 'd' looking for beginning of value"],
    ['tru', 'unexpected end of JSON input'],
    ['trux', "invalid character 'x' in literal true (expecting 'e')"],
    ['01', "invalid character '1' after top-level value"],
    ['"\n"', String.raw`invalid character '\x0a' in string literal`],
  ])('%j', (text, want) => expect(goSyntaxError(text)).toBe(want))

  test('there is one exactly when the engine finds one', () => {
    const almost = fc.oneof(
      fc.json(),
      fc.string(),
      fc.json().map((s) => s.slice(0, -1)),
      fc.json().map((s) => `${s},`),
    )
    fc.assert(
      fc.property(almost, (text) => {
        const parses = (() => {
          try {
            JSON.parse(text)
            return true
          } catch {
            return false
          }
        })()
        expect(goSyntaxError(text) === undefined).toBe(parses)
      }),
    )
  })
})
