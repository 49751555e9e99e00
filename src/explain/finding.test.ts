import { expect, test } from 'vitest'
import { storyLines } from './finding.ts'

const command = { line: 'kubenode rollout retry base --reason WHY' }
const blocked = { text: 'beacon 1.2.0 failed', command }

test('the command of the only finding is printed once', () => {
  expect(storyLines({ object: 'set/base', text: 'set/base is Blocked', below: [blocked], command })).toEqual([
    'set/base is Blocked',
    'beacon 1.2.0 failed',
    `  to unblock: ${command.line}`,
  ])
})

test('among several findings it is printed for the object too', () => {
  const below = [blocked, { text: 'cache 2.0.0 waits' }]
  expect(storyLines({ object: 'set/base', text: 'set/base is Blocked', below, command }).at(-1)).toBe(
    `to unblock: ${command.line}`,
  )
})
