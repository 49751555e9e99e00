// What stays by hand in place of a package is listed with its size: the page is not left behind when the code grows.
import { readFileSync, readdirSync, statSync } from 'node:fs'
import { join } from 'node:path'
import { expect, test } from 'vitest'
import { ROOT } from './source-files.ts'

/** A page may be behind by so much of the lines before it has to be written again. */
const TOLERANCE = 0.25

const page = readFileSync(join(ROOT, 'docs/adr/by-hand.md'), 'utf8')
const rows = [...page.matchAll(/^\| [^|]+ \| `([^`]+)` \| (\d+) \|/gm)].map(([, path = '', lines = '']) => ({
  path,
  lines: Number(lines),
}))

function linesOf(path: string): number {
  const full = join(ROOT, path)
  const files = statSync(full).isDirectory()
    ? readdirSync(full, { recursive: true, encoding: 'utf8' }).map((f) => join(full, f))
    : [full]
  return files
    .filter((f) => f.endsWith('.ts') && !f.endsWith('.test.ts'))
    .reduce((sum, f) => sum + readFileSync(f, 'utf8').split('\n').length - 1, 0)
}

test('every row names what is there, with its lines', () => {
  expect(rows.length).toBeGreaterThan(10)
  expect(page.match(/^\| /gm)).toHaveLength(rows.length + 1)
  const wrong = rows
    .map(({ path, lines }) => ({ path, lines, now: linesOf(path) }))
    .filter(({ lines, now }) => Math.abs(now - lines) > lines * TOLERANCE)
  expect(wrong).toEqual([])
})
