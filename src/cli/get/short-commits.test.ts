import { expect, test } from 'vitest'
import { type Form, TABLE } from './form.ts'
import { shortCommits } from './short-commits.ts'

const COMMIT = '3f1c9e0a7b5d4c2e8f6a1b3c5d7e9f0a2b4c6d8e'
const HEAD = ['NAME', 'COMMIT', 'WAITING']
const WIDE: Form = { kind: 'table', isWide: true }

test.each([
  ['a terminal', TABLE, 100, '3f1c9e0a7b5d'],
  ['a pipe', TABLE, undefined, COMMIT],
  ['-o wide', WIDE, 100, COMMIT],
] as const)('the commit in the table of %s', (_, form, width, want) => {
  expect(shortCommits(HEAD, { form, width })(['fleet', COMMIT, COMMIT])).toEqual(['fleet', want, COMMIT])
})

test('only whole commits below the head COMMIT are shortened', () => {
  const shape = { form: TABLE, width: 100 }
  expect(shortCommits(HEAD, shape)(['fleet', '<none>', ''])).toEqual(['fleet', '<none>', ''])
  expect(shortCommits(HEAD, shape)(['fleet', `${COMMIT}x`, ''])).toEqual(['fleet', `${COMMIT}x`, ''])
  expect(shortCommits(['NAME', 'DIGEST'], shape)(['fleet', COMMIT])).toEqual(['fleet', COMMIT])
  expect(shortCommits(HEAD, shape)(['fleet', 'a'.repeat(64), ''])).toEqual(['fleet', 'a'.repeat(12), ''])
})
