// The documentation site: every link leads somewhere, nothing is loaded from elsewhere, and the search that is shipped finds what people look for.
import { readFileSync } from 'node:fs'
import { join, posix } from 'node:path'
import { runInNewContext } from 'node:vm'
import { expect, test } from 'vitest'
import { ASKED_WITH } from './frame.ts'
import { picturesOf } from './pictures.ts'
import { htmlPath, renderPage } from './render.ts'
import { pagesOf, siteOf } from './site.ts'

const ROOT = join(import.meta.dirname, '../..')
const site = siteOf(ROOT, { version: '1.2.3', edit: 'https://git.example.org/kubenode/edit/main/' })
const html = [...site.files].filter(([path]) => path.endsWith('.html'))

test('every link between pages leads to a page and a heading that exist', () => {
  expect(site.broken).toEqual([])
  expect([...site.pages.values()].flatMap((p) => p.links).length).toBeGreaterThan(100)
})

test('every page is reached from the page above it, and all from the README', () => {
  const linked = (path: string) => (site.pages.get(path)?.links ?? []).map((link) => link.path)
  const reached = new Set(['README.md'])
  for (const path of reached) for (const to of linked(path)) if (site.pages.has(to)) reached.add(to)
  expect([...site.pages.keys()].filter((path) => !reached.has(path))).toEqual([])
  // `docs/operations/security/git.md` is below `docs/operations/security.md`, and `docs/tasks/window.md` below the README of its folder.
  const lost = [...site.pages.keys()].filter((path) => {
    const folder = posix.dirname(path)
    if (!folder.startsWith('docs/') || path === `${folder}/README.md`) return false
    return !linked(`${folder}.md`).includes(path) && !linked(`${folder}/README.md`).includes(path)
  })
  expect(lost).toEqual([])
})

test('every file that a page names exists beside it', () => {
  const names = new Set([...site.files.keys(), ...site.copied])
  const missing = html.flatMap(([path, text]) =>
    [...text.matchAll(/(?:href|src)="([^"#]+)[^"]*"/g)]
      .map((m) => m[1] ?? '')
      .filter((to) => !/^[a-z]+:/.test(to) && !names.has(posix.normalize(posix.join(posix.dirname(path), to))))
      .map((to) => `${path}: ${to}`),
  )
  expect(missing).toEqual([])
})

test('the navigation has each page once', () => {
  const [, index = ''] = html.find(([path]) => path === 'docs/tasks/index.html') ?? []
  const nav = index.split('<nav')[1]?.split('</nav>')[0] ?? ''
  const linked = [...nav.matchAll(/href="([^"]+)"/g)].map((m) => posix.normalize(posix.join('docs/tasks', m[1] ?? '')))
  expect(linked.toSorted()).toEqual(pagesOf(ROOT).map(htmlPath).toSorted())
})

test('nothing is loaded from elsewhere', () => {
  for (const [path, text] of site.files) {
    if (path.endsWith('.css')) expect(text).not.toMatch(/url\(|@import/)
    if (path.endsWith('.html'))
      expect([path, text.match(/<(script|link|img|iframe)[^>]*(https?:)?\/\/[^>]*>/)]).toEqual([path, null])
  }
  expect(site.files.get('site.js')).not.toMatch(/https?:|fetch\(|XMLHttpRequest/)
})

test('each page names its version and leads to where it is edited', () => {
  const [, page = ''] = html.find(([path]) => path === 'docs/concepts.html') ?? []
  expect(page).toContain('<a href="https://git.example.org/kubenode/edit/main/docs/concepts.md">Edit this page</a>')
  expect(page).toContain('<option>1.2.3</option>')
})

interface Hit {
  readonly url: string
}
const search = (words: string): readonly Hit[] => {
  const scripts = ['minisearch.js', 'search-index.js'].map((f) => site.files.get(f) ?? '').join('\n')
  const ask = `MiniSearch.loadJS(KUBENODE_INDEX.index, KUBENODE_INDEX.options).search(${JSON.stringify(words)}, ${ASKED_WITH})`
  return runInNewContext(`${scripts}\n;${ask}`) as readonly Hit[]
}

test('the page about a situation comes before pages that mention it', () => {
  const found = search('a rollout stands').map((hit) => hit.url)
  expect(found[0]).toBe('docs/operations/three-in-the-morning.html#a-rollout-stands')
  expect(found.length).toBeGreaterThan(1)
})

test.each([
  ['rollout stands', 'docs/operations/three-in-the-morning.html#a-rollout-stands'],
  ['backup', 'docs/tasks/backup-and-restore.html#backup-and-restore'],
  ['KN1422', 'docs/reference/errors.html'],
  ['BudgetExhausted', 'docs/operations/runbooks/permits.html'],
])('the search finds %s', (words, url) => {
  const found = search(words).map((hit) => hit.url)
  expect(found.some((u) => u.startsWith(url)) || found.slice(0, 5)).toBe(true)
})

test.each([
  ['canary', 'docs/tasks/canary.html'],
  ['hub lost', 'docs/operations/three-in-the-morning.html'],
  ['freeze', 'docs/tasks/freeze.html'],
])('of %s the page that says what to do is among the first three, before lists of fields', (words, url) => {
  const first = search(words)
    .slice(0, 3)
    .map((hit) => hit.url)
  expect(first.some((u) => u.startsWith(url)) || first).toBe(true)
})

test('the pictures are those that npm run docs -- --pictures draws now', () => {
  const drawn = picturesOf(ROOT)
  expect(drawn.size).toBeGreaterThan(0)
  for (const [path, svg] of drawn) expect(readFileSync(join(ROOT, path), 'utf8')).toBe(svg)
})

const rendered = (markdown: string) => renderPage('docs/a.md', markdown, (p) => p === 'docs/b.md' || p === 'README.md')

test('links to pages become links to their HTML, links to other files of the repository plain text', () => {
  expect(rendered('[b](b.md#x) [top](../README.md) [file](../deploy/x.yaml) [out](https://example.org)').html).toBe(
    '<p><a href="b.html#x">b</a> <a href="../index.html">top</a> file <a href="https://example.org">out</a></p>\n',
  )
})

test('equal headings have different anchors, and a comment in a block of code is no heading', () => {
  const { sections } = rendered('# A b\n\none\n\n```sh\n# not one\n```\n\n## Try `x`, y\n\n## Try `x`, y\n')
  expect(sections.map((s) => s.anchor)).toEqual(['a-b', 'try-x-y', 'try-x-y-1'])
  expect(sections[0]?.text).toContain('not one')
})

test('markup of others is text, or refused', () => {
  expect(rendered('`<script>` and `"&`').html).toBe('<p><code>&lt;script&gt;</code> and <code>&quot;&amp;</code></p>\n')
  expect(() => rendered('<script>alert(1)</script>\n')).toThrow('HTML in Markdown is not supported')
  expect(() => rendered('![x](https://example.org/x.png)')).toThrow('is on another server')
})
