import { expect, test } from 'vitest'
import { isAnotherConfig } from './config-watch.ts'

test.each([
  ['the same text', '{"a":1}', '{"a":1}', false],
  ['other white space and order', '{"a":1,"b":2}', '{ "b": 2, "a": 1 }', false],
  ['another value', '{"a":1}', '{"a":2}', true],
  ['a file half written', '{"a":1}', '{"a":', false],
  ['something that is no object', '{"a":1}', '[]', false],
  ['a first file', undefined, '{"a":1}', true],
  ['a file that was removed', '{"a":1}', undefined, true],
  ['a broken file that was mended', '{', '{"a":1}', true],
] as const)('%s: from %s to %s starts again: %s', (_what, before, after, expected) => {
  expect(isAnotherConfig(before, after)).toBe(expected)
})
