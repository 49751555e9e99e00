// `npm run docs`: writes the documentation site to a folder (`--out`, dist/docs/VERSION when left out). `--edit URL` links each page to where it is edited;
// `--pictures` first draws the pictures again. Folders of other versions beside it are listed for the switch of versions.
import { cpSync, existsSync, mkdirSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { dirname, join, posix, resolve } from 'node:path'
import { parseArgs } from 'node:util'
import { defined } from '#lib/defined.ts'
import { picturesOf } from './pictures.ts'
import { PICTURES, siteOf } from './site.ts'

const root = resolve(import.meta.dirname, '../..')
const { values } = parseArgs({
  options: { out: { type: 'string' }, edit: { type: 'string' }, pictures: { type: 'boolean' } },
})
const { version } = JSON.parse(readFileSync(join(root, 'package.json'), 'utf8')) as { readonly version: string }
const out = resolve(values.out ?? join(root, 'dist/docs', version))

function write(folder: string, files: ReadonlyMap<string, string>): void {
  for (const [path, text] of files) {
    mkdirSync(dirname(join(folder, path)), { recursive: true })
    writeFileSync(join(folder, path), text)
  }
}

const VERSION = /^\d+\.\d+\.\d+/

/** Each folder beside this one that is called as a version and has a site, with its pages. */
function versionsBeside(folder: string): string {
  const versions = readdirSync(folder)
    .filter((name) => VERSION.test(name) && existsSync(join(folder, name, 'site.js')))
    .toSorted((a, b) => b.localeCompare(a, 'en', { numeric: true }))
  const pages = (name: string) =>
    readdirSync(join(folder, name), { recursive: true, encoding: 'utf8' })
      .filter((file) => file.endsWith('.html'))
      .map((file) => file.replaceAll('\\', posix.sep))
      .toSorted()
  return `const KUBENODE_VERSIONS = ${JSON.stringify(versions.map((name) => ({ version: name, pages: pages(name) })))}\n`
}

if (values.pictures === true) {
  // Those of the console are taken by `npm run pictures`.
  for (const file of readdirSync(join(root, PICTURES))) if (file.endsWith('.svg')) rmSync(join(root, PICTURES, file))
  write(root, picturesOf(root))
}
const { files, copied, broken } = siteOf(root, { version, ...defined({ edit: values.edit }) })
for (const link of broken) process.stderr.write(`${link}\n`)
write(out, files)
for (const path of copied) cpSync(join(root, path), join(out, path))
if (VERSION.test(posix.basename(out))) writeFileSync(join(out, '../versions.js'), versionsBeside(dirname(out)))
process.stdout.write(`${files.size} files in ${out}; open ${join(out, 'index.html')}\n`)
if (broken.length > 0) process.exitCode = 1
