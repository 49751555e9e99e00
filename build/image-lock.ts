// `npm run image:lock`: moves the packages of the image to the newest versions of their Debian release, for all architectures, with a state folder of apt
// that is this program's own, from the mirror of this machine's apt sources or `--mirror URL`.
import { execFileSync, spawnSync } from 'node:child_process'
import { mkdirSync, mkdtempSync, readFileSync, readdirSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { parseArgs } from 'node:util'
import { releaseRoot } from '#lib/release-root.ts'
import { baseLayer, namedDeb, type NamedDeb, WANTED } from '#install/image/base-layer.ts'
import {
  ARCHITECTURES,
  LOCK_FILE,
  addressOf,
  archivesOf,
  type Architecture,
  type LockedPackage,
} from '#install/image/debian-lock.ts'
import { nodeFile } from '#install/image/node-layer.ts'
import { namedLicenses } from './release/licenses.ts'

const RELEASE = 'bookworm'
const KEYRING = '/usr/share/keyrings/debian-archive-keyring.gpg'
const ARCHIVES = [
  ['debian', RELEASE],
  ['debian', `${RELEASE}-updates`],
  ['debian-security', `${RELEASE}-security`],
] as const
/** What a library of a wanted program may be packed in; the rest of their dependencies are scripts, interpreters and tools. */
const LIBRARY = /^z?lib/
/** Packages that are the same for every architecture. */
const INDEPENDENT: readonly string[] = ['ca-certificates', 'tzdata']
const OUTPUT_BYTES = 64 * 1024 * 1024

const root = releaseRoot()
const { mirror } = parseArgs({ options: { mirror: { type: 'string' } } }).values
const archiveAt = archivesOf(mirror)
/** The archive and what is below it, wherever the mirror has both. */
const pathOf = (url: string): string => /\/(debian(?:-security)?\/pool\/.*)$/.exec(url)?.[1] ?? url
const state = mkdtempSync(join(tmpdir(), 'kubenode-image-lock-'))
try {
  const apt = prepareApt(state)
  apt('apt-get', 'update')
  const packages: Partial<Record<Architecture, readonly LockedPackage[]>> = {}
  for (const architecture of ARCHITECTURES) packages[architecture] = await lockedFor(architecture, apt)
  writeFileSync(join(root, LOCK_FILE), `${JSON.stringify({ release: RELEASE, packages }, undefined, 2)}\n`)
  process.stderr.write(`${LOCK_FILE} is written; build the image, test it, and commit the file\n`)
} finally {
  rmSync(state, { recursive: true, force: true })
}

type Apt = (program: string, ...args: string[]) => string

/** Nothing of this machine's apt is read but its proxies, and nothing of it is changed. */
function prepareApt(folder: string): Apt {
  const [lists, cache, sources] = [join(folder, 'lists'), join(folder, 'cache'), join(folder, 'sources.list')]
  for (const path of [join(lists, 'partial'), join(cache, 'archives/partial')]) mkdirSync(path, { recursive: true })
  writeFileSync(join(folder, 'status'), '')
  const from = `[arch=${ARCHITECTURES.join(',')} signed-by=${KEYRING}]`
  const lines = ARCHIVES.map(([archive, suite]) => `deb ${from} ${archiveAt(archive)} ${suite} main\n`)
  writeFileSync(sources, lines.join(''))
  const settings = [
    `Dir::State=${folder}`,
    `Dir::State::lists=${lists}`,
    `Dir::State::status=${join(folder, 'status')}`,
    `Dir::Cache=${cache}`,
    `Dir::Etc::sourcelist=${sources}`,
    'Dir::Etc::sourceparts=-',
    'APT::Sandbox::User=root',
    `APT::Architecture=${ARCHITECTURES[0]}`,
    ...ARCHITECTURES.map((a) => `APT::Architectures::=${a}`),
  ].flatMap((setting) => ['-o', setting])
  return (program, ...args) => {
    const { status, stdout, stderr, error } = spawnSync(program, [...settings, ...args], {
      cwd: folder,
      encoding: 'utf8',
      maxBuffer: OUTPUT_BYTES,
      env: { ...process.env, LC_ALL: 'C' },
    })
    if (status !== 0) throw new Error(`${program} ${args[0]}: ${error?.message ?? stderr}`)
    return stdout
  }
}

/** Fetches all that may be needed, and keeps what something in the image comes from. */
async function lockedFor(architecture: Architecture, apt: Apt): Promise<readonly LockedPackage[]> {
  const only = ['recommends', 'suggests', 'conflicts', 'breaks', 'replaces', 'enhances'].map((r) => `--no-${r}`)
  const qualified = (name: string) => (INDEPENDENT.includes(name) ? name : `${name}:${architecture}`)
  const all = apt('apt-cache', 'depends', '--recurse', ...only, ...WANTED.map(qualified))
  const libraries = [...all.matchAll(/^([a-z0-9][^\s:]*)(?::(\S+))?$/gm)].flatMap(
    ([, name = '', of = ARCHITECTURES[0]]) => (LIBRARY.test(name) && of === architecture ? [name] : []),
  )
  const names = [...new Set([...WANTED, ...libraries])].toSorted()
  const lines = apt('apt-get', '--print-uris', 'download', ...names.map(qualified))
  const folder = join(state, architecture)
  mkdirSync(folder)
  const found = [...lines.matchAll(/^'(\S+)' (\S+) (\d+) SHA256:([0-9a-f]{64})$/gm)].map(
    ([, url = '', file = '', size = '', sha256 = '']) => {
      const [name = '', version = ''] = file.replaceAll('%3a', ':').split('_')
      return { name, version, path: pathOf(url), size: Number(size), sha256 }
    },
  )
  const targets = found.flatMap((p) => [addressOf(archiveAt, p), join(folder, `${p.name}.deb`), `SHA256:${p.sha256}`])
  execFileSync('/usr/lib/apt/apt-helper', ['-o', 'APT::Sandbox::User=root', 'download-file', ...targets], {
    stdio: ['ignore', 'ignore', 'inherit'],
  })
  const debs = await Promise.all(
    readdirSync(folder).map((file) => namedDeb(file.replace(/\.deb$/, ''), readFileSync(join(folder, file)))),
  )
  const used = new Set(baseLayer(architecture, debs, await nodeFile(root, state, architecture)).packages)
  const licenses = new Map(debs.map((deb) => [deb.name, licensesOf(deb)]))
  return found
    .filter((p) => used.has(p.name))
    .map((p) => ({ ...p, licenses: licenses.get(p.name) ?? [] }))
    .toSorted((a, b) => (a.name < b.name ? -1 : 1))
}

function licensesOf({ name, entries }: NamedDeb): readonly string[] {
  const copyright = entries.find((e) => e.kind === 'File' && e.path === `usr/share/doc/${name}/copyright`)
  return copyright?.kind === 'File' ? namedLicenses(copyright.content().toString('utf8')) : []
}
