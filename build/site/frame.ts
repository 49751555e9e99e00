// What every page of the site has around its text: navigation, search, versions, a link to edit it, and the look of it in light, dark and on a phone.
// Nothing is loaded from elsewhere.
import { posix } from 'node:path'
import { escaped, htmlPath } from './render.ts'

export interface Entry {
  readonly path: string
  readonly title: string
}
export interface Group {
  readonly title: string
  readonly entries: readonly Entry[]
}

export interface Edition {
  readonly version: string
  /** Where pages are edited: the path of a page follows. */
  readonly edit?: string
}

export function framed(path: string, title: string, html: string, groups: readonly Group[], edition: Edition): string {
  const here = posix.dirname(path)
  const to = (file: string): string => posix.relative(here, file)
  const item = (e: Entry): string =>
    `<li><a href="${to(htmlPath(e.path))}"${e.path === path ? ' aria-current="page"' : ''}>${escaped(e.title)}</a></li>`
  const edited =
    edition.edit === undefined
      ? `Source: ${escaped(path)}`
      : `<a href="${escaped(edition.edit)}${escaped(path)}">Edit this page</a>`
  const nav = groups
    .map((g) => {
      const isOpen = g.entries.some((e) => e.path === path)
      return `<details${isOpen ? ' open' : ''}><summary>${escaped(g.title)}</summary><ul>${g.entries.map(item).join('')}</ul></details>`
    })
    .join('\n')
  return `<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<title>${escaped(title)} - KubeNode</title>
<link rel="stylesheet" href="${to('site.css')}">
</head>
<body data-root="${to('.') || '.'}" data-page="${htmlPath(path)}" data-version="${escaped(edition.version)}">
<header><a href="${to('index.html')}">KubeNode</a>
<input id="search" type="search" placeholder="Search" aria-label="Search the documentation" autocomplete="off">
<ol id="found" hidden></ol>
<select id="versions" aria-label="Version"><option>${escaped(edition.version)}</option></select>
<a id="to-pages" href="#pages">Pages</a></header>
<div id="page">
<main>
${html}<footer>${edited}</footer>
</main>
<nav id="pages" aria-label="Pages">
${nav}
</nav>
</div>
<script src="${to('site.js')}" defer></script>
</body>
</html>
`
}

export const STYLE = `:root { color-scheme: light dark; --back: #fff; --ink: #1d2129; --dim: #5b6472; --line: #d9dde3; --code: #f4f6f8; --link: #0b5cad }
@media (prefers-color-scheme: dark) { :root { --back: #14171c; --ink: #e3e6ea; --dim: #9aa3b0; --line: #343a44; --code: #1e232b; --link: #7db7f5 } }
* { box-sizing: border-box }
body { margin: 0; background: var(--back); color: var(--ink); font: 16px/1.55 system-ui, sans-serif }
a { color: var(--link) }
header { position: sticky; top: 0; z-index: 1; display: flex; gap: .6rem; align-items: center; padding: .6rem 1rem; background: var(--back); border-bottom: 1px solid var(--line) }
header > a { font-weight: 700; color: inherit; text-decoration: none }
#to-pages { display: none; font-weight: 400 }
#search { flex: 1; min-width: 0; max-width: 28rem; padding: .4rem .6rem; font: inherit; color: inherit; background: var(--code); border: 1px solid var(--line); border-radius: 6px }
#found { position: absolute; top: 100%; left: 1rem; right: 1rem; max-width: 44rem; max-height: 70vh; overflow: auto; margin: 0; padding: .5rem; list-style: none; background: var(--back); border: 1px solid var(--line); border-radius: 6px }
#found a { display: block; padding: .3rem .5rem; text-decoration: none }
#found small { color: var(--dim) }
#page { display: grid; grid-template-columns: 17rem minmax(0, 1fr); gap: 2rem; max-width: 80rem; margin: 0 auto; padding: 1rem }
nav { grid-column: 1; grid-row: 1; scroll-margin-top: 4rem }
nav ul { margin: .2rem 0 .6rem; padding-left: 1rem; list-style: none }
nav summary { cursor: pointer; font-weight: 600; padding: .2rem 0 }
nav a { text-decoration: none }
nav a[aria-current] { font-weight: 600; color: inherit }
main { grid-column: 2; grid-row: 1; overflow-wrap: break-word }
main > p, main > ul, main > ol { max-width: 46rem }
h1 a, h2 a, h3 a, h4 a { color: inherit; text-decoration: none }
h1, h2, h3, h4 { line-height: 1.25; scroll-margin-top: 4rem }
code { font: .88em ui-monospace, monospace; background: var(--code); padding: .1em .3em; border-radius: 4px }
pre { background: var(--code); padding: .8rem; border-radius: 6px; overflow-x: auto }
pre code { padding: 0; background: none }
.wide { overflow-x: auto }
table { border-collapse: collapse }
th, td { text-align: left; vertical-align: top; padding: .35rem .6rem; border: 1px solid var(--line) }
img { max-width: 100%; height: auto }
footer { margin-top: 3rem; padding-top: .6rem; border-top: 1px solid var(--line); color: var(--dim); font-size: .88em }
#versions { max-width: 9rem; font: inherit; color: inherit; background: var(--code); border: 1px solid var(--line); border-radius: 6px; padding: .35rem }
@media (max-width: 50rem) { #page { grid-template-columns: minmax(0, 1fr); gap: 0 } main, nav { grid-column: 1; grid-row: auto } nav { margin-top: 1rem } #to-pages { display: inline } }
`

/** Options of a search, as text of the page. The changelog contains every word, and lists of fields and options have each word as a heading; people who search want the page that says what to do. */
export const ASKED_WITH = `{ prefix: true, fuzzy: 0.15, boost: { title: 3, page: 2 }, combineWith: 'AND', boostDocument: (id, term, { url }) => url.startsWith('CHANGELOG') ? 0.1 : url.startsWith('docs/reference/') ? 0.3 : 1 }`

/**
 * The index is loaded from beside the page at the first search, so that it works from a folder too. The list of versions lies beside the folders of all versions,
 * because an older site does not know newer ones; a page that another version does not have leads to its first page.
 */
export const SCRIPT = `const box = document.getElementById('search'), found = document.getElementById('found'), root = document.body.dataset.root
let engine
const load = (name) => new Promise((done, fail) => {
  const script = document.createElement('script')
  script.src = root + '/' + name
  script.onload = done
  script.onerror = fail
  document.head.append(script)
})
const ready = () => engine ??= load('minisearch.js').then(() => load('search-index.js')).then(() => MiniSearch.loadJS(KUBENODE_INDEX.index, KUBENODE_INDEX.options))
async function look() {
  const words = box.value.trim()
  if (words === '') return void (found.hidden = true)
  const search = await ready()
  const hits = search.search(words, ${ASKED_WITH}).slice(0, 20)
  found.replaceChildren(...(hits.length === 0 ? [Object.assign(document.createElement('li'), { textContent: 'nothing found' })] : hits.map((hit) => {
    const link = Object.assign(document.createElement('a'), { href: root + '/' + hit.url, textContent: hit.title })
    const page = Object.assign(document.createElement('small'), { textContent: hit.title === hit.page ? '' : ' ' + hit.page })
    link.append(page)
    const item = document.createElement('li')
    item.append(link)
    return item
  })))
  found.hidden = false
}
box.addEventListener('input', look)
box.addEventListener('keydown', (e) => { if (e.key === 'Escape') found.hidden = true; if (e.key === 'Enter') found.querySelector('a')?.click() })
const versions = document.getElementById('versions'), { page, version } = document.body.dataset
load('../versions.js').then(() => {
  versions.replaceChildren(...KUBENODE_VERSIONS.map((v) => Object.assign(document.createElement('option'), { textContent: v.version, selected: v.version === version })))
  versions.addEventListener('change', () => {
    const to = KUBENODE_VERSIONS.find((v) => v.version === versions.value)
    if (to) location.href = root + '/../' + to.version + '/' + (to.pages.includes(page) ? page : 'index.html')
  })
}, () => {})
document.addEventListener('keydown', (e) => { if (e.key === '/' && document.activeElement !== box) { e.preventDefault(); box.focus() } })
`
