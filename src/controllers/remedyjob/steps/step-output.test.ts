import { expect, test } from 'vitest'
import { outputEnd } from './step-output.ts'

test.each([
  ['what fits', 'a\nbc', 'a\nbc'],
  ['the last lines', 'aaaa\nbb\nc', 'bb\nc'],
  ['a line that just fits', 'aa\nbbbb', 'bbbb'],
  ['the end of a line that is too long', 'abcdefgh', 'defgh'],
  ['the end of a last line that is too long and ends', 'abcdefgh\n', 'efgh\n'],
])('the end of an output is %s', (_, output, end) => {
  expect(outputEnd(output, 5)).toBe(end)
})
