import fc from 'fast-check'
import { expect, test } from 'vitest'
import { commitText, commitTitle, newestCommitText, titledCommit } from './commit-title.ts'

const ID = '3f1c9e0a7b5d4c2e8f6a1b3c5d7e9f0a2b4c6d8e'

test('a commit is called by its short hash, its subject and its author', () => {
  const title = commitTitle('beacon 1.1.0\n\nbecause', 'Ada Lovelace <ada@example.org>')
  expect(commitText(ID, title)).toBe('3f1c9e0a7b5d "beacon 1.1.0" by Ada Lovelace')
  expect(commitText(ID, {})).toBe('3f1c9e0a7b5d')
  expect(commitTitle('', '')).toEqual({})
})

test('a commit that some Release carries out has its title', () => {
  const releases = [{ spec: { commit: ID, subject: 'beacon 1.1.0' } }] as never
  expect(titledCommit(ID, releases)).toBe('3f1c9e0a7b5d "beacon 1.1.0"')
  expect(titledCommit('e'.repeat(40), releases)).toBe('eeeeeeeeeeee')
  expect(newestCommitText({ commit: ID, author: 'Ada' })).toBe('3f1c9e0a7b5d by Ada')
})

test('whatever a subject and an author hold, the text is one bounded line without control or bidi characters', () => {
  const nasty = fc.string({
    unit: fc.constantFrom('a', ' ', '\n', '\u001b', '\u202e', '::error::', '\0', 'é'),
    maxLength: 400,
  })
  fc.assert(
    fc.property(nasty, nasty, (message, author) => {
      const text = commitText(ID, commitTitle(message, author))
      expect(text).not.toMatch(/[\p{Cc}\u202a-\u202e\u2066-\u2069]/u)
      expect([...text].length).toBeLessThan(125)
    }),
  )
})
