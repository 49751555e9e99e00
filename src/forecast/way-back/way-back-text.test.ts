import { expect, test } from 'vitest'
import { locateGit } from '#sync/git/locate.ts'
import { whyNotSearched } from './way-back-text.ts'

test('outside of a repository a user is not told to make one', () => {
  let thrown: unknown
  try {
    locateGit('/')
  } catch (e) {
    thrown = e
  }
  expect(String(thrown)).toMatch(/KN1209.*git init/)
  expect(whyNotSearched(thrown, '/home/me')).toBe('/home/me is not the repository of a fleet')
  expect(whyNotSearched(new Error('no cage'), '/home/me')).toBe('no cage')
})
