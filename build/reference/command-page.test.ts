import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { expect, test } from 'vitest'
import { COMMAND_PAGE, commandPage } from './command-page.ts'

const page = await commandPage()

test(`${COMMAND_PAGE} is up to date; run npm run gen when it is not`, () => {
  expect(readFileSync(join(import.meta.dirname, '../..', COMMAND_PAGE), 'utf8')).toBe(page)
})

test('every command in the table has a section with its usage', () => {
  const paths = [...page.matchAll(/^\| \[([^\]]+)\]/gm)].map(([, path = '']) => path)
  expect(paths).toEqual(expect.arrayContaining(['get', 'logs', 'release promote', 'machine join-command']))
  for (const path of paths) expect(page).toContain(`\n## kubenode ${path}\n`)
})

test('what commander itself adds, and what is for programs only, is not on it', () => {
  expect(page).not.toMatch(/kubenode (__complete|render-job)/)
})
