import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterEach, expect, test } from 'vitest'
import { withPages } from './pages.ts'

const fleet = mkdtempSync(join(tmpdir(), 'kubenode-pages-'))
afterEach(() => rmSync(fleet, { recursive: true, force: true }))

test('a package names its pages from the current folder, and leaves paths alone that it does not have', () => {
  const root = join(fleet, 'node_modules/kubenode')
  mkdirSync(join(root, 'docs/reference'), { recursive: true })
  writeFileSync(join(root, 'docs/reference/errors.md'), '')
  const shown = (text: string, cwd = fleet) => withPages(text, cwd, root)
  expect(shown('all: docs/reference/errors.md, docs/reference, docs/own.md, my/docs/reference/errors.md')).toBe(
    'all: node_modules/kubenode/docs/reference/errors.md, node_modules/kubenode/docs/reference, docs/own.md, my/docs/reference/errors.md',
  )
  expect(shown('docs/reference/errors.md', join(fleet, 'charts'))).toBe(
    '../node_modules/kubenode/docs/reference/errors.md',
  )
})

test('in a checkout they keep their names', () => {
  expect(withPages('docs/reference/errors.md', fleet)).toBe('docs/reference/errors.md')
})
