import { expect, test } from 'vitest'
import { actionOf, storyLines } from './finding.ts'

const command = { line: 'kubenode rollout retry base --reason WHY' }
const blocked = { text: 'beacon 1.2.0 failed', command }

test('the command of the only finding is printed once', () => {
  expect(storyLines({ object: 'set/base', text: 'set/base is Blocked', below: [blocked], command })).toEqual([
    'set/base is Blocked',
    'beacon 1.2.0 failed',
    `  to unblock: ${command.line}`,
  ])
})

test('among several findings an advice is printed once, where it is needed first; states are printed for each', () => {
  const ends = 'a person publishes it: kubenode get components'
  const below = [
    { text: 'beacon waits', ends: 'the hold ends' },
    { text: 'cache waits', ends: 'the hold ends', below: [blocked] },
    { text: 'step 1', ends },
    { text: 'step 2', ends, command: { ...command, does: 'try again' } },
  ]
  expect(storyLines({ object: 'set/base', text: 'set/base is Blocked', below, command })).toEqual([
    'set/base is Blocked',
    'beacon waits',
    '  unblocks when: the hold ends',
    'cache waits',
    '  beacon 1.2.0 failed',
    `    to unblock: ${command.line}`,
    '  unblocks when: the hold ends',
    'step 1',
    `  unblocks when: ${ends}`,
    'step 2',
  ])
})

test('a command beside a state only shows more, and is not what to do', () => {
  const does = 'see each gate of its permit'
  expect(actionOf({ ends: 'the window opens', command: { ...command, does } })).toBeUndefined()
  expect(actionOf({ command: { ...command, does: 'continue' } })).toBe(command.line)
})
