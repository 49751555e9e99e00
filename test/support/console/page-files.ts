// The files of the page for the fixture server: types stripped, and the policy that lets nothing else run.
import { createHash } from 'node:crypto'
import { readFileSync, readdirSync } from 'node:fs'
import { stripTypeScriptTypes } from 'node:module'
import { join } from 'node:path'

interface PageFile {
  readonly type: string
  readonly text: string
}

export interface PageFiles {
  /** The document at `/`. */
  readonly html: string
  /** For the header Content-Security-Policy of every answer. */
  readonly policy: string
  /** By path, such as `/a/<digest>/page/main.ts`. Their content never changes: a browser may keep them. */
  readonly files: ReadonlyMap<string, PageFile>
}

/** What the page imports by a bare name, and where it is. */
const PACKAGES: Readonly<Record<string, string>> = {
  preact: 'node_modules/preact/dist/preact.mjs',
  'preact/hooks': 'node_modules/preact/hooks/dist/hooks.mjs',
}

/** Of the room itself, what runs in browsers too. */
const SHARED = ['delta.ts', 'machine-columns.ts']

const HOME = join(import.meta.dirname, '../../../src/console')

/** `root` is the folder with node_modules. */
export function pageFiles(root: string): PageFiles {
  const sources = [...SHARED, ...scriptsUnder('page')].map((path) => [path, script(join(HOME, path))] as const)
  const packages = Object.entries(PACKAGES).map(
    ([name, path]) => [`${name.replace('/', '-')}.mjs`, script(join(root, path))] as const,
  )
  const sheet: PageFile = { type: 'text/css', text: readFileSync(join(HOME, 'page/page.css'), 'utf8') }
  const all = [...sources, ...packages, ['page/page.css', sheet] as const]
  const hash = createHash('sha256')
  for (const [path, { text }] of all) hash.update(`${path}\n${text}\n`)
  const base = `/a/${hash.digest('hex').slice(0, 16)}`
  const map = JSON.stringify({
    imports: Object.fromEntries(Object.keys(PACKAGES).map((name) => [name, `${base}/${name.replace('/', '-')}.mjs`])),
  })
  const scripts = [...packages, ...sources].map(([path]) => `    <link rel="modulepreload" href="${base}/${path}" />`)
  const head = [
    `    <link rel="stylesheet" href="${base}/page/page.css" />`,
    `    <script type="importmap">${map}</script>`,
    ...scripts,
    `    <script type="module" src="${base}/page/main.ts"></script>`,
  ].join('\n')
  return {
    html: readFileSync(join(HOME, 'page/index.html'), 'utf8').replace(/^ *<!-- head.*$/m, () => head),
    policy: policyOf(map),
    files: new Map(all.map(([path, file]) => [`${base}/${path}`, file])),
  }
}

const policyOf = (map: string): string =>
  [
    `default-src 'none'`,
    `script-src 'self' 'sha256-${createHash('sha256').update(map).digest('base64')}'`,
    `style-src 'self'`,
    `img-src 'self' data:`,
    `connect-src 'self'`,
    `base-uri 'none'`,
    `form-action 'none'`,
    `frame-ancestors 'none'`,
    `require-trusted-types-for 'script'`,
    `trusted-types 'none'`,
  ].join('; ')

function script(path: string): PageFile {
  const text = readFileSync(path, 'utf8')
  // The map of a package names a file that is not served.
  return {
    type: 'text/javascript',
    text: path.endsWith('.ts') ? stripTypeScriptTypes(text) : text.replace(/^\/\/# sourceMappingURL=.*$/m, ''),
  }
}

function scriptsUnder(folder: string): readonly string[] {
  return readdirSync(join(HOME, folder), { withFileTypes: true })
    .flatMap((e) =>
      e.isDirectory()
        ? scriptsUnder(`${folder}/${e.name}`)
        : /(?<!\.test)\.ts$/.test(e.name)
          ? [`${folder}/${e.name}`]
          : [],
    )
    .toSorted()
}
