// Writes the files that are generated from the kinds, and removes those that no kind makes any more.
import { mkdir, readdir, rm, writeFile } from 'node:fs/promises'
import { dirname, join } from 'node:path'
import { GENERATED_DIRECTORIES, generatedFiles } from '#api/gen/generated-files.ts'
import { INSTALL_DIRECTORY, installFiles } from '../../deploy/charts/install.ts'

const root = join(import.meta.dirname, '../..')
const files = new Map([...generatedFiles(), ...installFiles()])

for (const directory of [...GENERATED_DIRECTORIES, INSTALL_DIRECTORY]) {
  await mkdir(join(root, directory), { recursive: true })
  const present = await readdir(join(root, directory))
  const stale = present.map((name) => `${directory}/${name}`).filter((path) => !files.has(path))
  await Promise.all(stale.map((path) => rm(join(root, path), { recursive: true })))
}
for (const [path, content] of files) {
  await mkdir(dirname(join(root, path)), { recursive: true })
  await writeFile(join(root, path), content)
}
console.log(`${files.size} files`)
