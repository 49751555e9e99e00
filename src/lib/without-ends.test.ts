import { expect, test } from 'vitest'
import { withoutEnd, withoutEnds } from './without-ends.ts'

test.each([
  ['a run at the end', 'a--', 'a', 'a'],
  ['runs at both ends', '--a-b--', '--a-b', 'a-b'],
  ['nothing', 'a-b', 'a-b', 'a-b'],
  ['all of it', '---', '', ''],
  ['an empty text', '', '', ''],
])('removes %s', (_, text, end, ends) => {
  expect([withoutEnd(text, /-/), withoutEnds(text, /-/)]).toEqual([end, ends])
})
