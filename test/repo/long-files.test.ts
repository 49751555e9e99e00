// The list of long test files names existing files only.
import { existsSync } from 'node:fs'
import { join } from 'node:path'
import { expect, test } from 'vitest'
import { LONG_FILES } from '#test/support/tools/longest-first.ts'

const ROOT = join(import.meta.dirname, '../..')

test('each file that a run begins with exists', () => {
  expect(Object.keys(LONG_FILES).filter((path) => !existsSync(join(ROOT, path)))).toEqual([])
})
