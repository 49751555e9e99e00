import { expect, test } from 'vitest'
import { unblockLines } from './unblock.ts'

test.each([
  ['the rate limit resets', ['unblocks when: the rate limit resets']],
  [
    'run kubenode rollback base; to retry, kubenode rollout retry base',
    ['to unblock: kubenode rollback base; to retry, kubenode rollout retry base'],
  ],
  ['kubenode release retry fleet-1', ['to unblock: kubenode release retry fleet-1']],
  [
    'a commit corrects it; to retry now, run kubenode release retry r',
    ['unblocks when: a commit corrects it; to retry now, run kubenode release retry r'],
  ],
  ['run git revert abc && git push', ['to unblock: git revert abc && git push']],
  ['', []],
])('%s reads as %s', (unblock, lines) => expect(unblockLines(unblock)).toEqual(lines))
