import fc from 'fast-check'
import { expect, test } from 'vitest'
import { withWrappedHints, wrapped } from './wrap.ts'

test('a line that fits stays; a longer one continues below, indented', () => {
  expect(wrapped('set/base is Complete', 24)).toEqual(['set/base is Complete'])
  expect(wrapped('  3 of 12 machines unavailable', 24)).toEqual(['  3 of 12 machines', '    unavailable'])
})

test('no word is lost, and only a word that is too long makes a line too long', () => {
  fc.assert(
    fc.property(
      fc.array(fc.stringMatching(/^[a-z]{1,30}$/), { minLength: 1 }),
      fc.integer({ min: 8, max: 60 }),
      (words, columns) => {
        const lines = wrapped(words.join(' '), columns)
        expect(lines.join(' ').split(/ +/)).toEqual(words)
        for (const line of lines) expect(line.length < columns || !line.trim().includes(' ')).toBe(true)
      },
    ),
  )
})

test.each([
  ['to continue: kubenode thaw set/base', ['to continue:', '  kubenode thaw set/base']],
  [
    'held; run kubenode approve operationpermit/p-1 --reason WHY, and wait',
    ['held; run', '  kubenode approve operationpermit/p-1 --reason WHY,', '  and wait'],
  ],
  ["run kubenode freeze --reason 'power work' now", ['run', "  kubenode freeze --reason 'power work'", '  now']],
  ['kubenode why-not node/n-17 shows what blocks it', ['kubenode why-not node/n-17', '  shows what blocks it']],
  ['see kubenode rollout history base; then wait', ['see', '  kubenode rollout history base;', '  then wait']],
  ['git revert --no-edit 1a2b3c4d5e6f7a8b takes it back', ['git revert --no-edit 1a2b3c4d5e6f7a8b', '  takes it back']],
  [
    'to unblock: git revert --no-edit 1a2b3c4d5e6f && git push; to retry, kubenode rollout retry base',
    ['to unblock:', '  git revert --no-edit 1a2b3c4d5e6f && git push;', '  to retry,', '  kubenode rollout retry base'],
  ],
])('a command is in one line, however narrow the window: %s', (line, lines) => {
  expect(wrapped(line, 26)).toEqual(lines)
})

test.each([
  ['an error', 'KN1: cannot freeze "a"; run kubenode why a\n', 'KN1: cannot freeze\n  "a"; run\n  kubenode why a\n'],
  ['what is drawn', '\r\u001b[Kwaiting for the server, since long', '\r\u001b[Kwaiting for the server, since long'],
  ['what has no end yet', 'waiting for the server, since long', 'waiting for the server, since long'],
])('on a narrow terminal, %s', (_, text, want) => {
  let err = ''
  const io = { out: () => undefined, err: (t: string) => void (err += t), cwd: '/', env: {}, isTerminal: true }
  withWrappedHints({ ...io, errWidth: () => 20 }).err(text)
  withWrappedHints(io).err(text)
  expect(err).toBe(want + text)
})
