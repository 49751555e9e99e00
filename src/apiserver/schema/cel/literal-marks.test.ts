import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { compileCel, evaluateCel } from './cel.ts'
import { markedLiterals } from './literal-marks.ts'
import { DYN } from './types.ts'
import { CelList, CelMap, CelOptional, type CelValue } from './values.ts'

const plain = (v: CelValue): unknown => {
  if (v instanceof CelOptional) return v.value === undefined ? 'none' : { some: plain(v.value) }
  if (v instanceof CelMap) return Object.fromEntries(v.keys().map((k) => [String(k), plain(v.get(k) ?? null)]))
  return v instanceof CelList ? v.toArray().map(plain) : v
}

function run(expression: string): unknown {
  const compiled = compileCel(expression, { variables: { any: DYN } })
  if (!compiled.ok) return compiled.problems
  const out = evaluateCel(compiled.program, { any: { a: 'x' } })
  return out.ok ? plain(out.value) : `error: ${out.error}`
}

describe('optional entries', () => {
  it.each<[string, unknown]>([
    ["[?optional.of('a'), 'b', ?optional.none()]", ['a', 'b']],
    ["{'k': 'v', ?'a': optional.of('x'), ?'b': optional.none()}", { k: 'v', a: 'x' }],
    ['{"one": any.?a, ?"two": any.?a, ?"three": any.?b}', { one: { some: 'x' }, two: 'x' }],
    ["[?any.?a.orValue('z') == 'x' ? optional.of(1) : optional.none()]", [1n]],
    ['[[?optional.of(1)], [ ?optional.none() ]]', [[1n], []]],
    ['1 in [?optional.of(1)]', true],
    ["['?', '[?', r'a\\b', // [?\n ?optional.of('c')]", ['?', '[?', 'a\\b', 'c']],
    ["any[?'a']", { some: 'x' }],
    ['[!true, true ? 1 == 1 : false]', [false, true]],
    ["{?'a': optional.of(null)}", { a: null }],
    ['[?optional.of(1), ?optional.of(2)].size()', 2n],
  ])('%s', (expression, value) => expect(run(expression)).toEqual(value))

  it.each([
    ['[?1]', "expected type 'optional_type(dyn)' but found 'int'"],
    ["{?'a': 'b'}", "expected type 'optional_type(dyn)' but found 'string'"],
    ['size(?any)', 'Syntax error'],
    ['any.all(x, ?x)', 'Syntax error'],
    ['(?any)', 'Syntax error'],
    ["[?optional.of(1), 'a']", "expected type 'int' but found 'string'"],
  ])('%s is refused', (expression, problem) => expect(run(expression)).toContain(problem))

  it('marking keeps every position, and marks only what is a mark', () => {
    const part = fc.constantFrom(
      '😀',
      '?',
      '[',
      ']',
      '{',
      '}',
      '(',
      ')',
      ',',
      ':',
      'a',
      '"',
      "'",
      '\\',
      ' ',
      'in',
      '//',
      '\n',
      '1',
      '.',
    )
    fc.assert(
      fc.property(fc.array(part, { maxLength: 40 }), (parts) => {
        const text = parts.join('')
        const marked = markedLiterals(text)
        expect(marked.text.length).toBe(text.length)
        const spaces = new Set<number>()
        for (const [brace, name] of marked.types) {
          expect(text[brace]).toBe('{')
          const at = text.lastIndexOf(name, brace - 1)
          for (let i = at; i < at + name.length; i++) spaces.add(i)
        }
        for (let i = 0; i < text.length; i++)
          expect(marked.text[i]).toBe(marked.places.has(i) ? '!' : spaces.has(i) ? ' ' : text[i])
        for (const i of marked.places) expect(text[i]).toBe('?')
      }),
    )
  })
})
