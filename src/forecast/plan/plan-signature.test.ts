import { expect, test } from 'vitest'
import { signatureNote } from './plan-signature.ts'

const COMMIT = 'c0ffee'.repeat(7).slice(0, 40)
const [BY, NONE, BAD] = [
  { kind: 'By', key: 'SHA256:x' },
  { kind: 'None' },
  { kind: 'Bad', why: 'does not match the content' },
] as const

test.each([
  ['a signed commit', BY, NONE, /^note: commit c0ffeec0ffee "beacon 1\.1\.0" by Ada is signed with SHA256:x$/],
  [
    'an unsigned commit after a signed one',
    NONE,
    BY,
    /^warning: .* is not signed, and the one before is; .*--amend -S$/,
  ],
  [
    'a bad signature',
    BAD,
    undefined,
    /^warning: the signature of commit c0ffeec0ffee "beacon 1\.1\.0" by Ada does not match the content; /,
  ],
] as const)('%s', (_, own, before, note) => {
  expect(signatureNote('c0ffeec0ffee "beacon 1.1.0" by Ada', own, before)).toMatch(note)
})

test.each([NONE, undefined])('where commits are not signed, nothing is shown', (before) => {
  expect(signatureNote(COMMIT, NONE, before)).toBeUndefined()
})
