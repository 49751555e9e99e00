import { expect, test } from 'vitest'
import { parseRevision, refFileName, revertedCommit } from './revision.ts'

test.each([
  ['main', 'main', []],
  ['HEAD', 'HEAD', []],
  ['HEAD^', 'HEAD', [1]],
  ['HEAD^2', 'HEAD', [2]],
  ['HEAD~3', 'HEAD', [1, 1, 1]],
  ['v1.2~2^2', 'v1.2', [1, 1, 2]],
  ['feature/x-y', 'feature/x-y', []],
  ['HEAD^0', 'HEAD', []],
])('%s is %s with the steps %j', (text, base, steps) => {
  expect(parseRevision(text)).toEqual({ base, steps })
})

test.each(['', '-n', '--upload-pack=x', 'a b', 'a:b', 'main@{1}', '../x', 'a\nb'])('%j is no revision', (text) => {
  expect(() => parseRevision(text)).toThrow('KN7010')
})

test.each([
  ['refs/heads/main', 'refs/heads/main'],
  ['refs/heads/../../config', undefined],
  ['refs/heads/.x', undefined],
  ['refs/heads/x.lock', undefined],
  ['refs/heads//x', undefined],
  ['HEAD', undefined],
  ['config', undefined],
  ['refs/heads/a b', undefined],
  [`refs/heads/${'x'.repeat(256)}`, undefined],
  [`refs/${'heads/'.repeat(200)}x`, undefined],
])('the file of %s is %s', (ref, file) => {
  expect(refFileName(ref)).toBe(file)
})

test('the commit that a revert undoes is read from the message that git writes', () => {
  const id = '3f1c9e0a7b5d4c2e8f6a1b3c5d7e9f0a2b4c6d8e'
  expect(revertedCommit(`Revert "two"\n\nThis reverts commit ${id}.\n`)).toBe(id)
  expect(revertedCommit(`this mentions This reverts commit ${id} in passing`)).toBeUndefined()
})
