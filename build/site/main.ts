// `npm run docs`: writes the documentation site to a folder (`--out`, dist/docs when left out); `--pictures` first writes the pictures of terminals again.
import { cpSync, mkdirSync, readdirSync, rmSync, writeFileSync } from 'node:fs'
import { dirname, join, resolve } from 'node:path'
import { parseArgs } from 'node:util'
import { picturesOf } from './pictures.ts'
import { PICTURES, siteOf } from './site.ts'

const root = resolve(import.meta.dirname, '../..')
const { values } = parseArgs({ options: { out: { type: 'string' }, pictures: { type: 'boolean' } } })
const out = resolve(values.out ?? join(root, 'dist/docs'))

function write(folder: string, files: ReadonlyMap<string, string>): void {
  for (const [path, text] of files) {
    mkdirSync(dirname(join(folder, path)), { recursive: true })
    writeFileSync(join(folder, path), text)
  }
}

if (values.pictures === true) {
  // Those of the console are taken by `npm run pictures`.
  for (const file of readdirSync(join(root, PICTURES))) if (file.endsWith('.svg')) rmSync(join(root, PICTURES, file))
  write(root, picturesOf(root))
}
const { files, copied, broken } = siteOf(root)
for (const link of broken) process.stderr.write(`${link}\n`)
write(out, files)
for (const path of copied) cpSync(join(root, path), join(out, path))
process.stdout.write(`${files.size} files in ${out}; open ${join(out, 'index.html')}\n`)
if (broken.length > 0) process.exitCode = 1
