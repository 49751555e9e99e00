// `npm run docs`: writes the documentation site to a folder (`--out`, dist/docs when left out); `--pictures` first writes the pictures of terminals again.
import { mkdirSync, rmSync, writeFileSync } from 'node:fs'
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
  rmSync(join(root, PICTURES), { recursive: true, force: true })
  write(root, picturesOf(root))
}
const { files, broken } = siteOf(root)
for (const link of broken) process.stderr.write(`${link}\n`)
write(out, files)
process.stdout.write(`${files.size} files in ${out}; open ${join(out, 'index.html')}\n`)
if (broken.length > 0) process.exitCode = 1
