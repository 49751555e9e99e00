import { expect, test } from 'vitest'
import { unblockIn, unblockLine } from './unblock-line.ts'

test.each([
  ['the rate limit resets', 'unblocks when: the rate limit resets', false],
  [
    'run kubenode rollback base; to retry, kubenode rollout retry base',
    'to unblock: kubenode rollback base; to retry, kubenode rollout retry base',
    true,
  ],
  ['kubenode release retry fleet-1', 'to unblock: kubenode release retry fleet-1', true],
  [
    'a commit corrects it; to retry now, run kubenode release retry r',
    'unblocks when: a commit corrects it; to retry now, run kubenode release retry r',
    false,
  ],
])('%s reads as %s', (unblock, line, isCommand) => {
  expect(unblockLine(unblock)).toBe(line)
  expect(unblockIn(`  ${line}`)).toEqual({ text: line.replace(/^[^:]*: /, ''), isCommand })
})

test('any other line names nothing that unblocks', () => expect(unblockIn('Ready is False for 2m')).toBeUndefined())
