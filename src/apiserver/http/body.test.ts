import { describe, expect, test } from 'vitest'
import { parseYaml } from './body.ts'

describe('the body of an apply', () => {
  test.each<[string, string, unknown]>([
    ['JSON', '{"a": [1, "x", null], "b": {"c": true}}', { a: [1, 'x', null], b: { c: true } }],
    ['JSON with a number beyond 2^53', '{"a": 9007199254740993}', { a: 9007199254740993n }],
    ['YAML in braces that is no JSON', '{a: 1, b: [x]}', { a: 1, b: ['x'] }],
    ['YAML', 'a: 1\nb:\n  - x\n', { a: 1, b: ['x'] }],
    ['the last of two equal keys', '{"a": 1, "a": 2}', { a: 2 }],
  ])('%s is read', async (_name, text, value) => {
    expect(await parseYaml(text)).toEqual({ value, duplicates: [], error: undefined })
  })

  test.each([
    ['broken JSON', '{"a": '],
    ['JSON without a bottom', `${'{"a":'.repeat(20_000)}1${'}'.repeat(20_000)}`],
  ])('%s is refused', async (_name, text) => {
    const { value, error } = await parseYaml(text)
    expect(value).toBeNull()
    expect(error).toMatch(/did not find expected node content|nested too deeply/)
  })

  test.each([['&a [*a]'], ['&a [*a, *a]'], ['a: &a {b: *a, c: *a}']])(
    'the value %s, which contains itself, is refused at once',
    async (text) => {
      expect(await parseYaml(text)).toEqual({ value: null, duplicates: [], error: 'yaml: an anchor contains itself' })
    },
  )

  test('YAML with an error at each word costs one look at the text, and names its line', async () => {
    expect(await parseYaml(`a: 1\n\nb: ${'!a '.repeat(80_000)}`)).toMatchObject({
      value: null,
      error: expect.stringContaining('line 3:') as string,
    })
  })
})
