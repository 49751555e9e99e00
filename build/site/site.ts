// All files of the documentation site, by path. Pure but for reading the pages of the repository.
import { existsSync, readFileSync, readdirSync } from 'node:fs'
import { join, posix } from 'node:path'
import MiniSearch from 'minisearch'
import { type Edition, framed, SCRIPT, STYLE, type Group } from './frame.ts'
import { htmlPath, renderPage, type RenderedPage } from './render.ts'

export const PICTURES = 'docs/pictures'

/** Pages by the folder that they are in, in the order of the navigation. */
const GROUPS: readonly (readonly [string, RegExp])[] = [
  ['Start', /^(README|docs\/(README|start\/README|what-works))\.md$/],
  ['Concepts', /^docs\/concepts(\.md$|\/)/],
  ['Tasks', /^docs\/tasks\//],
  ['Operations', /^docs\/operations\/(?!runbooks\/)/],
  ['Runbooks', /^docs\/operations\/runbooks\//],
  ['Reference', /^docs\/reference\//],
  ['Contributing', /^(docs\/contributing\/|CONTRIBUTING\.md$)/],
  ['Decisions', /^docs\/adr\//],
  ['Project', /^[^/]+\.md$/],
]

const ROOT_PAGES = ['README.md', 'CONTRIBUTING.md', 'CHANGELOG.md', 'SECURITY.md', 'CODE_OF_CONDUCT.md']

export const pagesOf = (root: string): readonly string[] => [
  ...ROOT_PAGES,
  ...readdirSync(join(root, 'docs'), { recursive: true, encoding: 'utf8' })
    .filter((f) => f.endsWith('.md'))
    .map((f) => posix.join('docs', f.replaceAll('\\', '/')))
    .toSorted(),
]

export interface Site {
  readonly files: ReadonlyMap<string, string>
  /** Pictures that are no text; they are copied. */
  readonly copied: readonly string[]
  readonly pages: ReadonlyMap<string, RenderedPage>
  /** Links that lead nowhere: `docs/a.md: no page docs/b.md`. */
  readonly broken: readonly string[]
}

const INDEX_OPTIONS = { fields: ['title', 'page', 'text'], storeFields: ['title', 'page', 'url'] }

export function siteOf(root: string, edition: Edition): Site {
  const paths = pagesOf(root)
  const known = new Set(paths)
  const pages = new Map(
    paths.map((path) => [path, renderPage(path, readFileSync(join(root, path), 'utf8'), (p) => known.has(p))] as const),
  )
  const groups = groupsOf(pages)
  const files = new Map<string, string>([
    ['site.css', STYLE],
    ['site.js', SCRIPT],
    [
      'search-index.js',
      `const KUBENODE_INDEX = ${JSON.stringify({ index: indexOf(pages), options: INDEX_OPTIONS })}\n`,
    ],
    [
      'minisearch.js',
      readFileSync(join(root, 'node_modules/minisearch/dist/umd/index.js'), 'utf8').replace(/^\/\/# source.*$/m, ''),
    ],
    ...[...pages].map(([path, p]) => [htmlPath(path), framed(path, p.title, p.html, groups, edition)] as const),
    ...picturesIn(root, 'svg').map((file) => [file, readFileSync(join(root, file), 'utf8')] as const),
  ])
  return {
    files,
    copied: picturesIn(root, 'png'),
    pages,
    broken: [...pages].flatMap(([path, page]) => brokenIn(root, path, page, pages)),
  }
}

const picturesIn = (root: string, type: 'svg' | 'png'): readonly string[] =>
  existsSync(join(root, PICTURES))
    ? readdirSync(join(root, PICTURES), { recursive: true, encoding: 'utf8' })
        .filter((f) => f.endsWith(`.${type}`))
        .map((f) => posix.join(PICTURES, f.replaceAll('\\', '/')))
    : []

function groupsOf(pages: ReadonlyMap<string, RenderedPage>): readonly Group[] {
  const groupFor = (path: string) => GROUPS.findIndex(([, pattern]) => pattern.test(path))
  return GROUPS.map(([title], i) => ({
    title,
    entries: [...pages].filter(([path]) => groupFor(path) === i).map(([path, p]) => ({ path, title: p.title })),
  }))
}

function indexOf(pages: ReadonlyMap<string, RenderedPage>): unknown {
  const search = new MiniSearch(INDEX_OPTIONS)
  const sections = [...pages].flatMap(([path, page]) =>
    page.sections.map((s) => ({ ...s, page: page.title, url: `${htmlPath(path)}#${s.anchor}` })),
  )
  search.addAll(sections.map((s, id) => ({ ...s, id })))
  return search.toJSON()
}

function brokenIn(
  root: string,
  path: string,
  { links }: RenderedPage,
  pages: ReadonlyMap<string, RenderedPage>,
): readonly string[] {
  return links.flatMap(({ path: to, anchor }) => {
    const page = pages.get(to)
    if (page === undefined) return existsSync(join(root, to)) ? [] : [`${path}: there is no ${to}`]
    const isThere = anchor === '' || page.sections.some((s) => s.anchor === anchor)
    return isThere ? [] : [`${path}: ${to} has no heading for #${anchor}`]
  })
}
