// Every error number is used and explained: its cause, what to check, and what to do, which no other number asks for.
import { readFileSync, readdirSync, statSync } from 'node:fs'
import { join } from 'node:path'
import { expect, test } from 'vitest'
import { BENCH_PART, ERROR_PAGE, errorPage } from '#build/reference/error-page.ts'
import { ADVICE, ERROR_PARTS } from '#explain/errors/numbers.ts'
import { apiRefusals } from '#kube/api-refusals.ts'
import { benchAdvice } from '../../bench/bench-advice.ts'
import { ROOT, codeOf, isTest, sourceFiles } from './source-files.ts'

const PARTS = { ...ERROR_PARTS, 9: BENCH_PART }
const ALL = { ...ADVICE, ...benchAdvice }
const NUMBERS: ReadonlySet<string> = new Set(Object.keys(ALL))
const NUMBER = /\bKN\d{4,5}(?!\d)/g

/** Numbers that tests of the table itself make up. */
const MADE_UP: ReadonlySet<string> = new Set(['KN1042', 'KN1043', 'KN9999'])

/** A table of sentences is where a number is a key; everything else uses it. */
const isTable = (text: string): boolean => text.includes(' = errorTable({') && !text.includes("from 'vitest'")
const isAdvice = (path: string): boolean => path.startsWith('src/explain/errors/') || path === 'bench/bench-advice.ts'

const sources = sourceFiles('src', 'bench', 'fleet', 'rules', 'deploy', 'test')
const product = sources.filter((f) => !isTest(f.path) && !f.path.startsWith('test/'))
const scripts = ['bin/kubenode', 'bin/with-node'].map((p) => ({ path: p, text: readFileSync(join(ROOT, p), 'utf8') }))
const tables = product.filter((f) => isTable(f.text))
const users = product.filter((f) => !isTable(f.text) && !isAdvice(f.path)).map(codeOf)
const sentences = tables.flatMap((f) => [...f.text.matchAll(/^ {2}(KN\d+(?:_\w+)?): \{/gm)].map((m) => m[1] ?? ''))
const numberOf = (key: string): string => key.split('_', 1)[0] ?? ''

function pagesUnder(folder: string): string[] {
  return readdirSync(join(ROOT, folder)).flatMap((name) => {
    const path = `${folder}/${name}`
    if (statSync(join(ROOT, path)).isDirectory()) return pagesUnder(path)
    return name.endsWith('.md') ? [path] : []
  })
}

test('each number lies in the range of a part', () => {
  expect([...NUMBERS].filter((n) => !(Math.floor(Number(n.slice(2)) / 1_000) in PARTS))).toEqual([])
})

test('every number that sources, scripts, documents and tests name is explained', () => {
  const pages = ['README.md', 'CONTRIBUTING.md', ...pagesUnder('docs')].map((path) => ({
    path,
    text: readFileSync(join(ROOT, path), 'utf8'),
  }))
  const strays = [...sources, ...scripts, ...pages].flatMap(({ path, text }) =>
    [...text.matchAll(NUMBER)].filter(([n]) => !NUMBERS.has(n) && !MADE_UP.has(n)).map(([n]) => `${path}: ${n}`),
  )
  expect(strays).toEqual([])
})

test('every number that is explained is used', () => {
  const used = new Set([
    ...sentences.map(numberOf),
    ...[...users, ...scripts.map((s) => s.text)].flatMap((text) => [...text.matchAll(NUMBER)].map(([n]) => n)),
  ])
  expect([...NUMBERS].filter((n) => !used.has(n))).toEqual([])
})

test('no two numbers ask for the same, and each says what happened, what to check and what to do', () => {
  const todos = Object.values(ALL).map(({ do: todo }) => todo.toLowerCase())
  expect(todos.filter((t, i) => todos.indexOf(t) !== i)).toEqual([])
  const empty = Object.entries(ALL).filter(([, a]) => [a.cause, a.check, a.do].some((text) => text.trim().length < 2))
  expect(empty.map(([code]) => code)).toEqual([])
})

test('every sentence is written once and used', () => {
  expect(sentences.filter((key, i) => sentences.indexOf(key) !== i)).toEqual([])
  const named = new Set(
    [...users, ...scripts.map((s) => s.text)].flatMap((text) =>
      [...text.matchAll(/\bKN\d{4,5}(?:_\w+)?/g)].map(([key]) => key),
    ),
  )
  const byStatus = Object.keys(apiRefusals) // chosen by the HTTP status
  expect(sentences.filter((key) => !named.has(key) && !byStatus.includes(key))).toEqual([])
})

test('no message with a number is written beside the tables', () => {
  // A shell that may not have Node yet writes its own.
  const SHELL = 'src/agent/join/join-script.ts'
  const written = product.filter((f) => f.path !== SHELL && /['"`]KN\d{4,5}: /.test(codeOf(f)) && !isTable(f.text))
  expect(written.map((f) => f.path)).toEqual([])
})

test('the contributor guide names the ranges', () => {
  const guide = readFileSync(join(ROOT, 'CONTRIBUTING.md'), 'utf8')
  const rows = [...guide.matchAll(/^\| KN(\d+)xxx \| (.*) \|$/gm)].map((m) => [m[1], m[2]])
  expect(rows).toEqual(Object.entries(PARTS))
})

test(`${ERROR_PAGE} is up to date; run npm run gen when it is not`, () => {
  expect(readFileSync(join(ROOT, ERROR_PAGE), 'utf8')).toBe(errorPage(ALL, PARTS))
})
