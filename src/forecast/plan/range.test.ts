import { describe, expect, test } from 'vitest'
import { KubeNodeError } from '#lib/errors.ts'
import { gitErrors } from '#sync/git/git-errors.ts'
import { apartWarning, baseOf, commitCalled, rangeOf } from './range.ts'

const commitWith = (id: string, parents: readonly string[]) => ({
  id,
  parents,
  time: 1,
  message: `change ${id}\n\nWhy.`,
  author: 'Ada <ada@example.com>',
})

/** main is d, after c, after the merge of b into a. */
const PARENTS: Readonly<Record<string, readonly string[]>> = { d: ['c'], c: ['a', 'b'], a: [], b: ['a'] }
const repository = {
  name: '/fleet',
  resolve: async (name: string) => {
    if (name === 'main' || name === 'HEAD') return 'd'
    throw new KubeNodeError(gitErrors.KN1664_read({ revision: JSON.stringify(name), repository: '/fleet' }))
  },
  commit: async (id: string) => commitWith(id, PARENTS[id] ?? []),
}

test.each([
  ['main', 'd'],
  ['HEAD~1', 'c'],
  ['HEAD^', 'c'],
  ['main~2', 'a'],
  ['main^^', 'a'],
  ['main~1^2', 'b'],
  ['main^^2~1', 'a'],
  ['main^0', 'd'],
  ['@', 'd'],
  ['@~1', 'c'],
  ['main~', 'c'],
])('%s is counted as git counts', async (revision, commit) => {
  expect(await commitCalled(repository, revision)).toBe(commit)
})

test.each([
  ['nope', 'cannot find "nope" in /fleet: no branch, tag or commit has this name'],
  ['main~9', 'cannot find "main~9" in /fleet: commit a "change a" by Ada has no such parent'],
  ['main^3', 'cannot find "main^3" in /fleet: commit d "change d" by Ada has no such parent'],
  ['main~999999', 'cannot find "main~999999" in /fleet: no branch, tag or commit has this name'],
])('%s is refused, and nothing is said of what stays in force', async (revision, words) => {
  const refused = await commitCalled(repository, revision).catch((e: Error) => e.message)
  expect(refused).toContain(`KN1664: ${words}`)
  expect(refused).not.toContain('in force')
})

test.each([
  ['main..', ['main', 'HEAD']],
  ['..topic', ['HEAD', 'topic']],
])('%s leaves out the commit that is checked out', (range, [base, head]) =>
  expect(rangeOf(range)).toEqual({ base, head, isFromFork: false }),
)

test('a range may count from names', () =>
  expect(rangeOf('HEAD~3..main')).toEqual({ base: 'HEAD~3', head: 'main', isFromFork: false }))

describe('three dots', () => {
  test.each([
    ['main...HEAD', 'main', 'HEAD'],
    ['main...', 'main', 'HEAD'],
    ['...topic', 'HEAD', 'topic'],
  ])('%s begins where both parted', (range, base, head) =>
    expect(rangeOf(range)).toEqual({ base, head, isFromFork: true }),
  )

  test.each(['...', '..', 'main....HEAD', '.main...HEAD'])('%s is no range', (range) =>
    expect(() => rangeOf(range)).toThrow(/^KN1002.*BASE\.\.\.HEAD/),
  )

  /** main: a, b. topic: a, x, y. other: no commit of these. */
  const parents: Readonly<Record<string, readonly string[]>> = { a: [], b: ['a'], x: ['a'], y: ['x'], other: [] }
  const names: Readonly<Record<string, string>> = { main: 'b', topic: 'y' }
  const parted = {
    name: '/fleet',
    resolve: async (name: string) => names[name] ?? name,
    commit: async (id: string) => {
      const of = parents[id]
      if (of === undefined) throw new KubeNodeError(gitErrors.KN1664_read({ revision: id, repository: '/fleet' }))
      return commitWith(id, of)
    },
  }
  test('the base is the newest commit of both, not the end of main', async () => {
    expect(await baseOf(parted, rangeOf('main...topic'), 'y')).toBe('a')
    expect(await baseOf(parted, rangeOf('main..topic'), 'y')).toBe('b')
  })

  test.each(['other', 'nowhere'])('without one (%s) it says what to type', async (base) => {
    await expect(baseOf(parted, { base, isFromFork: true }, 'y')).rejects.toThrow(/^KN1666.*plan COMMIT\.\.y/)
  })
})

describe('the warning of commits that went apart', () => {
  /** main: a, b. branch: a, x. */
  const parents: Readonly<Record<string, readonly string[]>> = { a: [], b: ['a'], x: ['a'], m: ['b', 'x'] }
  const repository = {
    commit: (id: string) => {
      const of = parents[id]
      return of === undefined
        ? Promise.reject(new KubeNodeError(gitErrors.KN1664_read({ revision: id, repository: '/fleet' })))
        : Promise.resolve(commitWith(id, of))
    },
  }
  test('names the branch alone', async () => {
    expect(await apartWarning(repository, 'b', 'x')).toBe(
      'commit x "change x" by Ada lacks commits of b "change b" by Ada, and what these changed is shown in reverse, which a merge does not do: merge or rebase first, or plan a..x, the branch alone',
    )
  })
  test.each([
    ['a merge', 'b', 'm'],
    ['a commit on top', 'a', 'b'],
    ['the way back', 'b', 'a'],
    ['a shallow clone', 'b', 'nowhere'],
  ])('is not there for %s', async (_, base, commit) => {
    expect(await apartWarning(repository, base, commit)).toBeUndefined()
  })
})
