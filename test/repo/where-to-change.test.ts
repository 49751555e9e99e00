// "Where do I change X?" names files that exist, for every change that people ask for.
import { existsSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { expect, test } from 'vitest'

const root = join(import.meta.dirname, '../..')
const HEADING = '## Where do I change X?'

const CHANGES = [
  'a condition',
  'a rule',
  'an operation',
  'a field',
  'a provider',
  'a gate',
  'a CLI command',
  'an error',
  'a component kind',
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
      paths: [...line.matchAll(/`([^`\s]+\/[^`\s]*)`/g)].map((m) => m[1] ?? ''),
    }))
}

const missing = (rows: readonly Row[]): readonly string[] =>
  rows.flatMap(({ change, paths }) =>
    paths.length === 0 ? [change] : paths.filter((path) => !existsSync(join(root, path))),
  )

const rows = rowsIn(readFileSync(join(root, 'docs/architecture.md'), 'utf8'))

test('every kind of change has a row', () => {
  expect(rows.map((r) => r.change)).toEqual(CHANGES)
})

test('every path is there', () => {
  expect(missing(rows)).toEqual([])
})

test('a path that is not there is found, and so is a row without one', () => {
  const text = `${HEADING}\n\n| change | files |\n|---|---|\n| a rule | \`rules/no-such.ts\` |\n| a gate | none |\n`
  expect(missing(rowsIn(text))).toEqual(['rules/no-such.ts', 'a gate'])
})

test('contributors are led there', () => {
  const text = readFileSync(join(root, 'CONTRIBUTING.md'), 'utf8')
  expect(text).toContain(HEADING)
  expect(text).toContain('(docs/architecture.md#where-do-i-change-x)')
})
