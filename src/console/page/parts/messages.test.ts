// The list of what the page told the user.
import { expect, test } from 'vitest'
import { withMessage } from './messages.ts'

test('the newest message is first, equal words are two messages, and the list is bounded', () => {
  const two = withMessage(withMessage([], 'Copied', 1), 'Copied', 2)
  expect(two.map(({ number, at }) => [number, at])).toEqual([
    [2, 2],
    [1, 1],
  ])
  let many = two
  for (let at = 3; at < 100; at++) many = withMessage(many, 'x', at)
  expect(many).toHaveLength(50)
  expect(withMessage(many, '', 100)).toBe(many)
})
