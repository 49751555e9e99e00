// Holds docs/faults.md to the tests that it names.
import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { expect, test } from 'vitest'
import { ROOT } from './source-files.ts'

const rows = [
  ...readFileSync(join(ROOT, 'docs/faults.md'), 'utf8').matchAll(/^\| ([FS]\d+) \| ([^|]+) \|([^|]*)\|$/gm),
].map(([, tag = '', what = '', files = '']) => ({
  tag,
  what: what.trim(),
  files: [...files.matchAll(/`([^`]+)`/g)].map((m) => m[1] ?? ''),
}))

test('every fault and attack of the list has a line', () => {
  expect(rows.length).toBeGreaterThanOrEqual(62)
  expect(new Set(rows.map((r) => r.tag)).size).toBe(rows.length)
})

test('a file that is named carries the number', () => {
  const wrong = rows.flatMap(({ tag, files }) =>
    files
      .filter((f) => !new RegExp(`\\b${tag}\\b`).test(readFileSync(join(ROOT, f), 'utf8')))
      .map((f) => `${tag}: ${f}`),
  )
  expect(wrong).toEqual([])
})
