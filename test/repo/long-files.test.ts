// The list of long test files names existing files only.
import { existsSync } from 'node:fs'
import { join } from 'node:path'
import { expect, test } from 'vitest'
import { LONG_FILES, shares } from '#test/support/tools/longest-first.ts'

const ROOT = join(import.meta.dirname, '../..')

test('each file that a run begins with exists', () => {
  expect(Object.keys(LONG_FILES).filter((path) => !existsSync(join(ROOT, path)))).toEqual([])
})

test('the shares of a run are all files, each once, and take about as long', () => {
  const lengths = [450, 420, 240, 220, 150, 150, 120, 110, 60, 60, 50, ...Array.from({ length: 200 }, () => 10)]
  const files = lengths.map((seconds, name) => ({ name, seconds }))
  const dealt = shares(files, 4, (f) => f.seconds)
  const sums = dealt.map((share) => share.reduce((all, f) => all + f.seconds, 0))
  expect(dealt.flat().toSorted((a, b) => a.name - b.name)).toEqual(files)
  expect(Math.max(...sums) - Math.min(...sums)).toBeLessThanOrEqual(10)
})
