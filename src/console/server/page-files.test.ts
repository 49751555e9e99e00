// The files of the page: whole, so that a browser finds everything that a module imports.
import { mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { dirname, join } from 'node:path'
import { expect, onTestFinished, test } from 'vitest'
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

test('what the page needs before it can draw anything is preloaded, and no view', async () => {
  const html = page.html.body.toString()
  const preloaded = [...html.matchAll(/<link rel="modulepreload" href="([^"]+)">/g)].map(([, href]) => href ?? '')
  const views = /\/page\/views\/(?!sign-in)/
  const { modules } = await loadedBy(html, async (path) => (views.test(path) ? '' : reads(path)))
  expect(preloaded.toSorted()).toEqual(modules.filter((path) => !views.test(path)).toSorted())
})

test('the whole page is at most 140 kB compressed', () => {
  const bytes = [page.html, ...page.files.values()].reduce((sum, { gzip }) => sum + gzip.length, 0)
  expect(bytes / 1_024).toBeLessThan(140)
})

test('modules are served without comments of their own, and their lines keep their numbers', () => {
  for (const [path, { body }] of page.files) {
    if (!path.endsWith('.ts')) continue
    const text = body.toString()
    expect(text, path).not.toMatch(/^[ \t]*\/(?:\/|\*\*.*\*\/$)|[ \t]$/m)
    const source = readFileSync(join(import.meta.dirname, path.startsWith('lib/') ? '../..' : '..', path), 'utf8')
    expect(text.split('\n').length, path).toBe(source.split('\n').length)
    // Where such a line is text, leaving it out would change the program.
    expect(source.replaceAll(/`[^`\n]*`/g, ''), path).not.toMatch(/^(?! *(?:\/\/|\/?\*)).*`[^`]*\n/m)
  }
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

test('a module of a packed release finds the modules that it shares with the programs', async () => {
  const root = mkdtempSync(join(tmpdir(), 'kubenode-page-'))
  onTestFinished(() => rmSync(root, { recursive: true, force: true }))
  const release: Readonly<Record<string, string>> = {
    'src/lib/printable.js': 'export const visible = (text) => text',
    'src/console/page/index.html': '<!-- head: the server puts the style sheet, the import map and the entry here -->',
    'src/console/page/main.js':
      'import { draw } from "./heat/draw.js";\nimport { visible } from "../../lib/printable.js";',
    'src/console/page/heat/draw.js':
      'import { visible } from "../../../lib/printable.js";\nexport const draw = () => visible("")',
  }
  for (const [path, text] of Object.entries(release)) {
    mkdirSync(dirname(join(root, path)), { recursive: true })
    writeFileSync(join(root, path), text)
  }
  const packed = readPage(root)
  const { modules, missing } = await loadedBy(packed.html.body.toString(), async (path) =>
    packed.files.get(path.replace(`/a/${packed.digest}/`, ''))?.body.toString(),
  )
  expect(missing).toEqual([])
  expect(modules).toContain(`/a/${packed.digest}/lib/printable.js`)
})
