import { expect, test } from 'vitest'
import { whyNotReleased } from './readiness.ts'

const ready = { version: '1.2.3', hasKey: true, changes: [], tags: ['v1.2.3'], date: '2027-01-02', omitted: [] }

test('a clean commit with its tag, a dated changelog and a key is released', () =>
  expect(whyNotReleased(ready)).toEqual([]))

test.each([
  ['no key', { hasKey: false }, /^no key signs it: name one with --key FILE/],
  [
    'files in no commit',
    { changes: ['a', 'b', 'c', 'd', 'e', 'f', 'g'] },
    /commit or remove a, b, c, d, e and 2 more$/,
  ],
  ['the tag of another version', { tags: ['v1.2.2'] }, /^the commit has no tag v1\.2\.3: git tag -s v1\.2\.3/],
  ['no date in the changelog', { date: undefined }, /^CHANGELOG\.md has no date for 1\.2\.3/],
  ['a part less', { omitted: ['image'] }, /^it lacks image: leave out --only$/],
] as const)('%s: refused, with what to do', (_, change, why) => {
  const found = whyNotReleased({ ...ready, ...change })
  expect(found).toHaveLength(1)
  expect(found[0]).toMatch(why)
})
