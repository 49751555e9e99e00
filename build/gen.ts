// Writes the files that are generated from the kinds, and deletes outdated ones.
import { mkdir, readdir, readFile, rm, writeFile } from 'node:fs/promises'
import { dirname, join } from 'node:path'
import { pathToFileURL } from 'node:url'
import { GENERATED_DIRECTORIES, generatedFiles } from '#api/gen/generated-files.ts'
import { withOrdinaryPods } from '#api/ordinary-pods.ts'
import { releaseRoot } from '#lib/release-root.ts'
import type { Advice } from '#explain/errors/advice.ts'
import { ADVICE, ERROR_PARTS } from '#explain/errors/numbers.ts'
import { BENCH_PART, ERROR_PAGE, errorPage } from './reference/error-page.ts'
import { COMMAND_PAGE, commandPage } from './reference/command-page.ts'
import { CONTRACT_PAGES, withContract } from './reference/contract-pages.ts'
import { makeOutline } from './make-outline.ts'
import { FIGURES_PAGE, figuresPage } from './reference/figures-page.ts'
import { PROVIDER_PAGE, providerPage } from './reference/provider-page.ts'
import { PROVIDER_PROTOCOL_PAGE, providerProtocolPage } from './reference/provider-protocol-page.ts'
import { ROOM_PAGE, type ShippedPolicy, roomPage } from './reference/room-page.ts'
import { RULES_PAGE, rulesPage } from './reference/rules-page.ts'
import { ARCHITECTURE_PAGE, sourceLines, withRoomLines } from './reference/source-rooms.ts'

const root = releaseRoot()
const SECURITY_PAGE = 'docs/operations/security/git.md'

/** Charts are not part of the program: they are loaded from their folder, as the CLI of cdk8s would. */
interface InstallCharts {
  readonly INSTALL_DIRECTORY: string
  readonly HUB_DIRECTORY: string
  readonly installFiles: () => ReadonlyMap<string, string>
}
interface ReleaseCharts {
  readonly KUSTOMIZE_DIRECTORY: string
  readonly SETTINGS_COMPONENT: string
  readonly releaseFiles: () => ReadonlyMap<string, string>
}
interface MonitoringCharts {
  readonly monitoringFiles: (root: string) => ReadonlyMap<string, string>
}
const charted = (file: string): Promise<unknown> => import(pathToFileURL(join(root, 'deploy/charts', file)).href)
const { INSTALL_DIRECTORY, HUB_DIRECTORY, installFiles } = (await charted('install.ts')) as InstallCharts
const { KUSTOMIZE_DIRECTORY, SETTINGS_COMPONENT, releaseFiles } = (await charted('release-files.ts')) as ReleaseCharts
const { monitoringFiles } = (await charted('monitoring.ts')) as MonitoringCharts
const bench = (await import(pathToFileURL(join(root, 'bench/bench-advice.ts')).href)) as {
  readonly benchAdvice: Advice
}
const { careful } = (await import(pathToFileURL(join(root, 'rules/defender/careful.ts')).href)) as {
  readonly careful: ShippedPolicy['spec']
}
await makeOutline()
const errors = errorPage({ ...ADVICE, ...bench.benchAdvice }, { ...ERROR_PARTS, 9: BENCH_PART })
const files = new Map([
  ...generatedFiles(),
  ...installFiles(),
  ...releaseFiles(),
  ...monitoringFiles(root),
  [ERROR_PAGE, errors],
  [COMMAND_PAGE, await commandPage()],
  [PROVIDER_PAGE, providerPage()],
  [PROVIDER_PROTOCOL_PAGE, providerProtocolPage()],
  [FIGURES_PAGE, figuresPage()],
  [RULES_PAGE, rulesPage()],
  [ROOM_PAGE, roomPage([{ name: 'careful', spec: careful }])],
  ...(await Promise.all(
    CONTRACT_PAGES.map(async (page) => [page, withContract(await readFile(join(root, page), 'utf8'))] as const),
  )),
  [SECURITY_PAGE, withOrdinaryPods(await readFile(join(root, SECURITY_PAGE), 'utf8'))],
  [
    ARCHITECTURE_PAGE,
    withRoomLines(await readFile(join(root, ARCHITECTURE_PAGE), 'utf8'), (folder) => sourceLines(join(root, folder))),
  ],
])

for (const directory of [
  ...GENERATED_DIRECTORIES,
  INSTALL_DIRECTORY,
  HUB_DIRECTORY,
  KUSTOMIZE_DIRECTORY,
  SETTINGS_COMPONENT,
]) {
  await mkdir(join(root, directory), { recursive: true })
  const present = await readdir(join(root, directory))
  const isKept = (path: string) => files.has(path) || path === SETTINGS_COMPONENT
  const stale = present.map((name) => `${directory}/${name}`).filter((path) => !isKept(path))
  await Promise.all(stale.map((path) => rm(join(root, path), { recursive: true })))
}
for (const [path, content] of files) {
  await mkdir(dirname(join(root, path)), { recursive: true })
  await writeFile(join(root, path), content)
}
console.log(`${files.size} files`)
