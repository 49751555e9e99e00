// The files of the page: whole, so that a browser finds everything that a module imports.
import { expect, test } from 'vitest'
import { loadedBy } from '#test/support/console/page-imports.ts'
import { readPage } from './page-files.ts'

const page = readPage()
const reads = async (path: string) => page.files.get(path.replace(`/a/${page.digest}/`, ''))?.body.toString()

test('everything that a module of the page imports is served, and everything served is imported', async () => {
  const { modules, missing } = await loadedBy(page.html.body.toString(), reads)
  expect(missing).toEqual([])
  const scripts = [...page.files.keys()].filter((path) => !path.endsWith('.css'))
  const typesOnly = (path: string) =>
    !/[^\s;]/.test((page.files.get(path)?.body.toString() ?? '').replaceAll(/\/\/.*|export \{\}|\/\*[^]*?\*\//g, ''))
  const unread = scripts.filter((path) => !modules.includes(`/a/${page.digest}/${path}`))
  expect(unread.filter((path) => !typesOnly(path))).toEqual([])
})

test('a module that imports what is not served is named', async () => {
  const entry = `/a/${page.digest}/page/main.ts`
  const strange = async (path: string) =>
    path === entry ? `import "../../virtual/helpers.js";\nimport x from 'nothing'` : undefined
  expect((await loadedBy(page.html.body.toString(), strange)).missing).toEqual([
    `${entry} imports /a/virtual/helpers.js`,
    `${entry} imports nothing`,
  ])
})
