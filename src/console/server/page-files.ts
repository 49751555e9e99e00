// The page's files: TypeScript with types stripped, under a digest of all of them, so that browsers cache them and never mix two versions.
import { createHash } from 'node:crypto'
import { existsSync, readdirSync, readFileSync } from 'node:fs'
import { stripTypeScriptTypes } from 'node:module'
import { join } from 'node:path'
import { gzipSync } from 'node:zlib'
import { releaseRoot } from '#lib/release-root.ts'
import { firstModules } from './first-modules.ts'
import { pagePolicy } from './headers.ts'

export interface PageFile {
  readonly type: string
  readonly body: Buffer
  readonly gzip: Buffer
}

/** Built at the first request: a starting fleet needs the CPU for itself. */
class ServedFile implements PageFile {
  readonly type: string
  readonly source: string
  readonly #make: (source: string) => string
  #body: Buffer | undefined
  #gzip: Buffer | undefined

  constructor(type: string, source: string, make = (text: string): string => text) {
    this.type = type
    this.source = source
    this.#make = make
  }

  get body(): Buffer {
    return (this.#body ??= Buffer.from(this.#make(this.source)))
  }

  get gzip(): Buffer {
    return (this.#gzip ??= gzipSync(this.body, { level: 9 }))
  }
}

export interface Page {
  /** By path below `/a/<digest>/`. */
  readonly files: ReadonlyMap<string, PageFile>
  readonly digest: string
  readonly html: PageFile
  /** Where a reverse proxy serves it below its host, such as `/kubenode`; empty at the root. */
  readonly base: string
  readonly policy: string
}

const JS = 'text/javascript; charset=utf-8'
const CSS = 'text/css; charset=utf-8'
const HTML = 'text/html; charset=utf-8'

/** Packages that the page imports by name. */
const PACKAGES: Readonly<Record<string, string>> = {
  preact: 'preact/dist/preact.mjs',
  'preact/hooks': 'preact/hooks/dist/hooks.mjs',
}

/** `src/lib` modules that the page uses too; they import nothing. A packed release has them as JavaScript. */
const SHARED = ['printable.ts', 'printable.js', 'defined.ts', 'defined.js']

/** How a packed module refers to one of them: by a path in the release, outside the served folder. */
const BY_PATH = /(["'])(?:\.\.\/)+lib\/([\w-]+\.js)\1/g
const byName = (text: string): string =>
  text.replace(BY_PATH, (whole, quote: string, name: string) =>
    SHARED.includes(name) ? `${quote}#lib/${name}${quote}` : whole,
  )

const PLACE = '<!-- head: the server puts the style sheet, the import map and the entry here -->'

/** Excludes files for tests and type checkers. */
const isServed = (name: string): boolean =>
  /\.(ts|js|css)$/.test(name) && !/\.test\.(ts|js)$/.test(name) && !name.endsWith('.d.ts')

/** `root`: the release's folder. A packed one has JavaScript, whose imports name JavaScript. `base`: see `Page`. */
export function readPage(root = releaseRoot(), base = ''): Page {
  const folder = join(root, 'src/console')
  const sources = [
    ...filesBelow(join(folder, 'page'), 'page'),
    ...readdirSync(folder).filter((n) => /\.(ts|js)$/.test(n) && isServed(n)),
  ]
  const files = new Map<string, ServedFile>()
  for (const path of sources.toSorted()) files.set(path, served(path, byName(readFileSync(join(folder, path), 'utf8'))))
  for (const name of SHARED) {
    const source = join(root, 'src/lib', name)
    if (existsSync(source)) files.set(`lib/${name}`, served(name, readFileSync(source, 'utf8')))
  }
  for (const file of Object.values(PACKAGES)) addPackage(files, root, `npm/${file}`, file)
  const digest = digestOf(files)
  const at = (path: string): string => `${base}/a/${digest}/${path}`
  const named = new Map(
    [
      ...SHARED.map((name) => [`#lib/${name}`, `lib/${name}`] as const),
      ...Object.entries(PACKAGES).map(([name, file]) => [name, `npm/${file}`] as const),
    ].filter(([, path]) => files.has(path)),
  )
  const map = JSON.stringify({ imports: Object.fromEntries([...named].map(([name, path]) => [name, at(path)])) })
  const entry = files.has('page/main.js') ? 'page/main.js' : 'page/main.ts'
  const first = firstModules(entry, { read: (path) => files.get(path)?.source, named })
  const head = [
    `<link rel="stylesheet" href="${at('page/page.css')}">`,
    `<script type="importmap">${map}</script>`,
    // Otherwise each of these would be requested only once the previous one was parsed.
    ...first.map((path) => `<link rel="modulepreload" href="${at(path)}">`),
    `<script type="module" src="${at(entry)}"></script>`,
  ].join('\n    ')
  const shell = join(folder, 'page/index.html')
  const html = existsSync(shell) ? readFileSync(shell, 'utf8').replace(PLACE, () => head) : ''
  const hash = `sha256-${createHash('sha256').update(map).digest('base64')}`
  return { files, digest, html: new ServedFile(HTML, html), base, policy: pagePolicy(hash) }
}

function filesBelow(folder: string, prefix: string): readonly string[] {
  if (!existsSync(folder)) return []
  return readdirSync(folder, { withFileTypes: true }).flatMap((entry) => {
    const path = `${prefix}/${entry.name}`
    return entry.isDirectory() ? filesBelow(join(folder, entry.name), path) : isServed(entry.name) ? [path] : []
  })
}

function addPackage(files: Map<string, ServedFile>, root: string, path: string, file: string): void {
  const source = join(root, 'node_modules', file)
  if (existsSync(source)) files.set(path, served(path, withoutMap(readFileSync(source, 'utf8'))))
}

/** The browser would request a file that is not served. */
const withoutMap = (text: string): string => text.replace(/\n?\/\/# sourceMappingURL=.*\s*$/, '\n')

/** Node warns once per process that this is experimental, which does not help users. If a later Node drops it, the page's tests fail. */
function withoutTypes(text: string): string {
  const emitWarning = process.emitWarning.bind(process)
  process.emitWarning = () => undefined
  try {
    return withoutRemarks(stripTypeScriptTypes(text))
  } finally {
    process.emitWarning = emitWarning
  }
}

/** Lines that are only a comment, and the blanks in place of types: a sixth of what browsers load. Lines keep their numbers, for stacks. */
const withoutRemarks = (code: string): string =>
  code
    .split('\n')
    .map((line) => (isRemark(line.trim()) ? '' : line.trimEnd()))
    .join('\n')

const isRemark = (line: string): boolean => line.startsWith('//') || (line.startsWith('/**') && line.endsWith('*/'))

function served(path: string, text: string): ServedFile {
  if (path.endsWith('.css')) return new ServedFile(CSS, text)
  return path.endsWith('.ts') ? new ServedFile(JS, text, withoutTypes) : new ServedFile(JS, text)
}

/** Of the sources and of the tool that strips their types. */
function digestOf(files: ReadonlyMap<string, ServedFile>): string {
  const hash = createHash('sha256').update(process.version)
  for (const [path, { source }] of files) hash.update(`${path}\n${source.length}\n`).update(source)
  return hash.digest('hex').slice(0, 16)
}
