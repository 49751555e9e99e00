// Decisions are cited by number: each has one of its own, and its title begins with it.
import { readdirSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { expect, test } from 'vitest'
import { ROOT } from './source-files.ts'

const FOLDER = join(ROOT, 'docs/adr')
const pages = readdirSync(FOLDER).filter((name) => /^\d{4}-/.test(name))

test('every decision has a number of its own, and its title says it', () => {
  expect(pages.length).toBeGreaterThan(20)
  const byNumber = Map.groupBy(pages, (name) => name.slice(0, 4))
  expect([...byNumber].filter(([, names]) => names.length > 1)).toEqual([])
  const titled = (name: string) =>
    readFileSync(join(FOLDER, name), 'utf8').startsWith(`# ${Number(name.slice(0, 4))}. `)
  expect(pages.filter((name) => !titled(name))).toEqual([])
})
