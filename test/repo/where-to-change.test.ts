// "Where do I change X?" names files that exist, for every change that people ask for, in an order in which they can be edited.
import { existsSync, readFileSync, statSync } from 'node:fs'
import { join } from 'node:path'
import { expect, test } from 'vitest'
import { GATE_KINDS } from '#api/kinds/release-pipeline.ts'
import { type Import, ROOT as root, sourceFiles } from './source-files.ts'

const HEADING = '## Where do I change X?'

const CHANGES = [
  'a condition',
  'a rule',
  'an operation',
  'a field',
  'a provider',
  'what is applied to a cluster',
  'a gate',
  'a controller',
  'a CLI command',
  'an error',
  'a component kind',
  'a room',
]

interface Row {
  readonly change: string
  readonly paths: readonly string[]
}

function rowsIn(text: string): readonly Row[] {
  const section = text.split(`${HEADING}\n`)[1]?.split('\n## ')[0] ?? ''
  return section
    .split('\n')
    .filter((line) => line.startsWith('| ') && !line.startsWith('| change'))
    .map((line) => ({
      change: line.split('|')[1]?.trim() ?? '',
      paths: [...line.matchAll(/`([^`\s]+\/[^`\s]*|package\.json)`/g)].map((m) => m[1] ?? ''),
    }))
}

/** A folder is named with a slash, so that a file that became a folder is noticed. */
const isThere = (path: string): boolean =>
  existsSync(join(root, path)) && statSync(join(root, path)).isDirectory() === path.endsWith('/')

/** One file alone needs no row: nothing would have to be found. */
const missing = (rows: readonly Row[]): readonly string[] =>
  rows.flatMap(({ change, paths }) => (paths.length < 2 ? [change] : paths.filter((path) => !isThere(path))))

type Imports = ReadonlyMap<string, readonly Pick<Import, 'file'>[]>

function reachedFrom(path: string, imports: Imports): ReadonlySet<string> {
  const reached = new Set([path])
  for (const one of reached) for (const { file } of imports.get(one) ?? []) if (file !== undefined) reached.add(file)
  return reached
}

/** A file that needs a later one of its row cannot be finished first. */
const disordered = (rows: readonly Row[], imports: Imports): readonly string[] =>
  rows.flatMap(({ change, paths }) =>
    paths.flatMap((path, i) => {
      const reached = reachedFrom(path, imports)
      return paths.slice(i + 1).flatMap((later) => (reached.has(later) ? [`${change}: ${path} needs ${later}`] : []))
    }),
  )

const rows = rowsIn(readFileSync(join(root, 'docs/contributing/architecture.md'), 'utf8'))

test('every kind of change has a row', () => {
  expect(rows.map((r) => r.change)).toEqual(CHANGES)
})

test('every path is there', () => {
  expect(missing(rows)).toEqual([])
})

test('a path that is not there is found, and so are a row without one and a folder that is named as a file', () => {
  const rowsOfText = '| a rule | `rules/no-such.ts`, `rules/kernel` and `rules/kernel/` |\n| a gate | none |\n'
  const text = `${HEADING}\n\n| change | files |\n|---|---|\n${rowsOfText}`
  expect(missing(rowsIn(text))).toEqual(['rules/no-such.ts', 'rules/kernel', 'a gate'])
})

test('no file of a row needs one that the row names later', () => {
  const sources = sourceFiles('src', 'build', 'rules', 'deploy', 'test/repo')
  expect(disordered(rows, new Map(sources.map((f) => [f.path, f.imports])))).toEqual([])
})

test('an order in which nothing can be finished is found, also over a file between', () => {
  const row = { change: 'a gate', paths: ['src/a.ts', 'src/c.ts'] }
  const imports: Imports = new Map([
    ['src/a.ts', [{ file: 'src/b.ts' }]],
    ['src/b.ts', [{ file: 'src/c.ts' }, { file: undefined }]],
  ])
  expect(disordered([row], imports)).toEqual(['a gate: src/a.ts needs src/c.ts'])
  expect(disordered([{ ...row, paths: row.paths.toReversed() }], imports)).toEqual([])
})

test('the page of gates has each kind of them', () => {
  const page = readFileSync(join(root, 'docs/concepts/gates.md'), 'utf8')
  expect(GATE_KINDS.filter((kind) => !page.includes(`| \`${kind}\``))).toEqual([])
})

test('contributors are led there', () => {
  const text = readFileSync(join(root, 'CONTRIBUTING.md'), 'utf8')
  expect(text).toContain(HEADING)
  expect(text).toContain('(docs/contributing/architecture.md#where-do-i-change-x)')
})
