// Text as Go writes it.
import { describe, expect, test } from 'vitest'
import { goLiteral, goText, goType } from './go-text.ts'

describe('text as Go writes it', () => {
  test.each<[unknown, string]>([
    [{ name: 'b', $patch: 'explode' }, 'map[$patch:explode name:b]'],
    [[1, 'a', true, null], '[1 a true <nil>]'],
    [1e21, '1e+21'],
    [0.00001, '1e-05'],
  ])('%j prints as %s', (value, text) => {
    expect(goText(value)).toBe(text)
  })

  test.each<[unknown, string]>([
    ['x', '"x"'],
    [{ b: 1, a: [null] }, 'map[string]interface {}{"a":[]interface {}{interface {}(nil)}, "b":1}'],
  ])('%j is the literal %s', (value, text) => {
    expect(goLiteral(value)).toBe(text)
  })

  test.each<[unknown, string]>([
    [1, 'int64'],
    [1.5, 'float64'],
    [true, 'bool'],
    [[], '[]interface {}'],
    [{}, 'map[string]interface {}'],
  ])('%j has the type %s', (value, text) => {
    expect(goType(value)).toBe(text)
  })

  test('big integers print whole', () => {
    expect(goText(2n ** 60n)).toBe('1152921504606846976')
  })
})
