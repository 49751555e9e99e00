// Every error number is registered once, in the range of its part, used, and explained.
import { readFileSync, readdirSync, statSync } from 'node:fs'
import { join } from 'node:path'
import { describe, expect, test } from 'vitest'
import { BENCH_PART, ERROR_PAGE, errorPage } from '#build/reference/error-page.ts'
import { ERROR_PARTS, entriesOf } from '#cli/error-parts.ts'
import { apiRefusals } from '#kube/api-refusals.ts'
import { benchErrors } from '../../bench/bench-errors.ts'
import { ROOT, codeOf, isTest, sourceFiles } from './source-files.ts'

const PARTS = [...ERROR_PARTS, { ...BENCH_PART, tables: [benchErrors] }]
const ALL = PARTS.flatMap((part) => entriesOf(part).map((e) => ({ ...e, thousands: part.thousands })))
const NUMBERS: ReadonlySet<string> = new Set(ALL.map((e) => e.code))
const NUMBER = /\bKN\d{4,5}\b/g

/** Numbers that tests of the table itself make up. */
const MADE_UP: ReadonlySet<string> = new Set(['KN1042', 'KN1043', 'KN9999'])

/** A table is where a number is a key; everything else uses it. */
const isTable = (text: string): boolean => text.includes(' = errorTable({') && !text.includes("from 'vitest'")

const sources = sourceFiles('src', 'bench', 'fleet', 'rules', 'deploy', 'test')
const product = sources.filter((f) => !isTest(f.path) && !f.path.startsWith('test/'))
const scripts = ['bin/kubenode', 'bin/with-node'].map((p) => ({ path: p, text: readFileSync(join(ROOT, p), 'utf8') }))

function pagesUnder(folder: string): string[] {
  return readdirSync(join(ROOT, folder)).flatMap((name) => {
    const path = `${folder}/${name}`
    if (statSync(join(ROOT, path)).isDirectory()) return pagesUnder(path)
    return name.endsWith('.md') ? [path] : []
  })
}

test('no number is registered twice', () => {
  const seen = ALL.map((e) => e.code)
  expect(seen.filter((code, i) => seen.indexOf(code) !== i)).toEqual([])
})

test('each number lies in the range of its part', () => {
  expect(ALL.filter((e) => Math.floor(Number(e.code.slice(2)) / 1_000) !== e.thousands).map((e) => e.code)).toEqual([])
})

test('every table is on the page', () => {
  const keys = product
    .filter((f) => isTable(f.text))
    .flatMap((f) => [...f.text.matchAll(/^ {2}(KN\d+): \{/gm)].map((m) => m[1] ?? ''))
  expect(keys.filter((n) => !NUMBERS.has(n))).toEqual([])
  expect(keys).toHaveLength(NUMBERS.size)
})

test('every number that sources, scripts, documents and tests name is registered', () => {
  const pages = ['README.md', 'CONTRIBUTING.md', ...pagesUnder('docs')].map((path) => ({
    path,
    text: readFileSync(join(ROOT, path), 'utf8'),
  }))
  const strays = [...sources, ...scripts, ...pages].flatMap(({ path, text }) =>
    [...text.matchAll(NUMBER)].filter(([n]) => !NUMBERS.has(n) && !MADE_UP.has(n)).map(([n]) => `${path}: ${n}`),
  )
  expect(strays).toEqual([])
})

test('every registered number is used', () => {
  const used = [...product.filter((f) => !isTable(f.text)).map(codeOf), ...scripts.map((s) => s.text)]
    .flatMap((text) => [...text.matchAll(NUMBER)].map(([n]) => n))
    .concat(Object.keys(apiRefusals)) // chosen by the HTTP status
  const missing = new Set(used)
  expect([...NUMBERS].filter((n) => !missing.has(n))).toEqual([])
})

test('no message with a number is written beside the tables', () => {
  // A shell that may not have Node yet writes its own.
  const SHELL = 'src/agent/join/join-script.ts'
  const written = product.filter((f) => f.path !== SHELL && /['"`]KN\d{4,5}: /.test(codeOf(f)) && !isTable(f.text))
  expect(written.map((f) => f.path)).toEqual([])
})

test('the contributor guide names the ranges', () => {
  const guide = readFileSync(join(ROOT, 'CONTRIBUTING.md'), 'utf8')
  const rows = [...guide.matchAll(/^\| KN(\d+)xxx \| (.*) \|$/gm)].map((m) => [Number(m[1]), m[2]])
  expect(rows).toEqual(PARTS.toSorted((a, b) => a.thousands - b.thousands).map((p) => [p.thousands, p.name]))
})

test(`${ERROR_PAGE} is up to date; run npm run gen when it is not`, () => {
  expect(readFileSync(join(ROOT, ERROR_PAGE), 'utf8')).toBe(errorPage(PARTS))
})

describe('the page', () => {
  test('has a line for each number, with its message and what to do', () => {
    const page = errorPage(PARTS)
    for (const { code } of ALL)
      expect(page.match(new RegExp(`^\\| ${code} \\| .+ \\| .* \\|$`, 'gm')), code).toHaveLength(1)
  })

  test('says for each number what to do, or what happens by itself', () => {
    expect(ALL.filter((e) => e.next === '').map((e) => e.code)).toEqual([])
  })
})
