// The pages of the contracts say what the code does: their tables are made from its constants.
import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { expect, test } from 'vitest'
import { BLOCK_NAMES, CONTRACT_PAGES, blockNames, withContract } from '#build/reference/contract-pages.ts'
import { ROOT } from './source-files.ts'

const page = (path: string): string => readFileSync(join(ROOT, path), 'utf8')

test.each(CONTRACT_PAGES.map((path) => [path] as const))('%s is up to date; run npm run gen when it is not', (path) => {
  expect(page(path)).toBe(withContract(page(path)))
})

test('each fact of the code is on one page, and none lacks its words', () => {
  const all = CONTRACT_PAGES.flatMap((path) => blockNames(page(path)))
  expect(all.toSorted()).toEqual(BLOCK_NAMES.toSorted())
  expect(CONTRACT_PAGES.filter((path) => page(path).includes('not described'))).toEqual([])
})
