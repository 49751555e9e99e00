// Writes the files that are generated from the kinds, and deletes outdated ones.
import { mkdir, readdir, rm, writeFile } from 'node:fs/promises'
import { dirname, join } from 'node:path'
import { pathToFileURL } from 'node:url'
import { GENERATED_DIRECTORIES, generatedFiles } from '#api/gen/generated-files.ts'
import { releaseRoot } from '#lib/release-root.ts'
import { BENCH_PART, ERROR_PAGE, ERROR_PARTS, errorPage, type ErrorPart } from './reference/error-page.ts'
import { PROVIDER_PAGE, providerPage } from './reference/provider-page.ts'

const root = releaseRoot()

/** Charts are not part of the program: they are loaded from their folder, as the CLI of cdk8s would. */
interface InstallCharts {
  readonly INSTALL_DIRECTORY: string
  readonly HUB_DIRECTORY: string
  readonly installFiles: () => ReadonlyMap<string, string>
}
const charts = join(root, 'deploy/charts/install.ts')
const { INSTALL_DIRECTORY, HUB_DIRECTORY, installFiles } = (await import(pathToFileURL(charts).href)) as InstallCharts
const bench = (await import(pathToFileURL(join(root, 'bench/bench-errors.ts')).href)) as {
  readonly benchErrors: ErrorPart['tables'][number]
}
const errors = errorPage([...ERROR_PARTS, { ...BENCH_PART, tables: [bench.benchErrors] }])
const files = new Map([...generatedFiles(), ...installFiles(), [ERROR_PAGE, errors], [PROVIDER_PAGE, providerPage()]])

for (const directory of [...GENERATED_DIRECTORIES, INSTALL_DIRECTORY, HUB_DIRECTORY]) {
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
