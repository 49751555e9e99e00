// No regular expression of the product takes more than linear time, unless its text is short, which is then said here.
import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { expect, test } from 'vitest'
import { slowPatternsIn } from '#test/support/tools/slow-patterns.ts'
import { filesUnder, ROOT } from './source-files.ts'

/** By file: the pattern, and what bounds its text. */
const BOUNDED: Readonly<Record<string, Readonly<Record<string, string>>>> = {
  'src/artifacts/oci/component-tar.ts': { '/^ *[0-7]*[ \\0]*$/': 'a number of a header, 12 bytes' },
  'src/console/server/page-files.ts': {
    '/\\n?\\/\\/# sourceMappingURL=.*\\s*$/': 'our own page, and packages that it is built of',
  },
  'src/artifacts/oci/registry-auth.ts': {
    '/^\\s*([a-z]+)(?:\\s+(.*))?$/is': 'a header, cut to MAX_CHALLENGE (4,096 characters)',
    '/([a-z]+)="([^"]*)"/gi': 'a header, cut to MAX_CHALLENGE (4,096 characters)',
  },
}

const sources = filesUnder('src').filter((path) => !path.endsWith('.test.ts'))
const found = sources.flatMap((path) =>
  slowPatternsIn(path, readFileSync(join(ROOT, path), 'utf8')).map((slow) => ({ path, ...slow })),
)

test('no pattern takes more than linear time over a text that a stranger makes long', () => {
  const unbounded = found.filter(({ path, pattern }) => BOUNDED[path]?.[pattern] === undefined)
  expect(unbounded.map(({ path, line, pattern }) => `${path}:${line} ${pattern}`)).toEqual([])
})

test('each exception is still there', () => {
  const named = Object.entries(BOUNDED).flatMap(([path, patterns]) => Object.keys(patterns).map((p) => `${path} ${p}`))
  const seen = new Set(found.map(({ path, pattern }) => `${path} ${pattern}`))
  expect(named.filter((each) => !seen.has(each))).toEqual([])
})

test.each([
  ['a run that is tried from each of its characters', '/^[ \\t]+|[ \\t]+$/g', true],
  ['two parts that share a run', '/^a*a*b/', true],
  ['repetitions in each other', '/^(a+)+$/', true],
  ['a pattern that begins at one place', '/^[a-z]+$/', false],
  ['a pattern that is read from where the last one ended', '/[a-z]+=/y', false],
])('the check knows %s', (_, pattern, isSlow) => {
  expect(slowPatternsIn('a.ts', `export const a = ${pattern}\n`).length > 0).toBe(isSlow)
})
