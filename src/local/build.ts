// The programs of the fleet in a few plain files: twenty processes that each load hundreds of small ones would take half of a start on a small machine.
// A build belongs to the sources that it was made from: an edit makes a new one, and without a bundler the sources themselves run.
import { spawn } from 'node:child_process'
import { createHash } from 'node:crypto'
import {
  existsSync,
  lstatSync,
  mkdirSync,
  mkdtempSync,
  readFileSync,
  readdirSync,
  renameSync,
  rmSync,
  statSync,
  writeFileSync,
} from 'node:fs'
import { basename, join } from 'node:path'
import { entriesBelow } from '#lib/entries-below.ts'
import { isTrustedBuild } from '#lib/trusted-cache.ts'
import { manifestsOf, type Manifests } from './install.ts'

export interface BuildOptions {
  /** The checkout. */
  readonly root: string
  /** Folder for builds and for what Node compiled. */
  readonly cache: string
  readonly node: string
  readonly env: Readonly<Record<string, string>>
}

/** A folder with the entry files, and what they end with. */
export interface Entries {
  readonly folder: string
  readonly ending: '.ts' | '.mjs'
}

/** Those that other programs start; `warm` loads them all once. */
const ENTRIES = ['main', 'agent-main', 'hollow-main', 'warm'] as const
const PARTS = ['apiserver', 'roles', 'agent'] as const
/** They look for files beside themselves, or are loaded by few and late. */
const LEFT_OUT = ['pino', 'rolldown', 'cdk8s', '@kubernetes/client-node', 'isomorphic-git'] as const
const SOURCES = ['src', 'deploy'] as const
const BUILDS = 'programs'
/** What is installed into each cluster; as YAML it takes as long to read as a program to load. */
const MANIFESTS = 'manifests.json'
/** A fleet that runs loads parts of its build late; the one before it may still be in use. */
const MOST_KEPT = 3
/** A slow machine takes a tenth of it. */
const WARM_WITHIN_MS = 30_000
const BUILD_WITHIN_MS = 120_000

export const entryIn = ({ folder, ending }: Entries, name: string): string => join(folder, `${name}${ending}`)
export const sourcesOf = (root: string): Entries => ({ folder: join(root, 'src/cli'), ending: '.ts' })

export const manifestsBy = ({ folder, ending }: Entries, root: string): Manifests =>
  ending === '.ts'
    ? manifestsOf(join(root, 'deploy'))
    : (JSON.parse(readFileSync(join(folder, MANIFESTS), 'utf8')) as Manifests)

/** The build of these very sources, when there is one. */
export function builtOf({ root, cache }: Pick<BuildOptions, 'root' | 'cache'>): Entries | undefined {
  const fingerprint = fingerprintOf(root)
  if (fingerprint === undefined) return undefined
  const folder = join(cache, BUILDS, fingerprint)
  return isWhole(root, folder) ? { folder, ending: '.mjs' } : undefined
}

/** A host that lost its power soon after a build may have kept the names of its files and nothing in them. */
function isWhole(root: string, folder: string): boolean {
  // What another user could have written is built again.
  const names = existsSync(folder) && isTrustedBuild(root, folder) ? readdirSync(folder) : []
  const isThere = [...ENTRIES.map((name) => `${name}.mjs`), MANIFESTS].every((name) => names.includes(name))
  return isThere && names.every((name) => statSync(join(folder, name)).size > 0)
}

/** Answers with the sources where nothing can be built or kept: it only saves time. */
export async function build(options: BuildOptions): Promise<Entries> {
  const { root, cache } = options
  const sources = sourcesOf(root)
  const builds = join(cache, BUILDS)
  let made: string | undefined
  try {
    const fingerprint = fingerprintOf(root)
    if (fingerprint === undefined) return sources
    mkdirSync(builds, { recursive: true })
    made = mkdtempSync(join(builds, 'new-'))
    await bundlePrograms(root, made)
    // Edited meanwhile: what was made belongs to neither state of the sources.
    if (fingerprintOf(root) !== fingerprint) return sources
    const folder = join(builds, fingerprint)
    const built: Entries = { folder, ending: '.mjs' }
    // Whole or not there; one that another start made meanwhile may run already, and loads parts of it late.
    if (isWhole(root, folder)) return built
    rmSync(folder, { recursive: true, force: true })
    renameSync(made, folder)
    forgetOld(builds)
    await warm(options, built)
    return built
  } catch {
    return sources
  } finally {
    if (made !== undefined) rmSync(made, { recursive: true, force: true })
  }
}

/** Equal sources make equal files. The folder exists. */
export async function bundlePrograms(root: string, folder: string): Promise<void> {
  const { rolldown } = await import('rolldown')
  const bundle = await rolldown({
    cwd: root,
    input: Object.fromEntries(ENTRIES.map((name) => [name, entryIn(sourcesOf(root), name)])),
    platform: 'node',
    external: LEFT_OUT.map((name) => new RegExp(`^${name}(/|$)`)),
    logLevel: 'silent',
  })
  await bundle.write({ dir: folder, format: 'esm', entryFileNames: '[name].mjs', chunkFileNames: '[name]-[hash].mjs' })
  await bundle.close()
  writeFileSync(join(folder, MANIFESTS), JSON.stringify(manifestsOf(join(root, 'deploy'))))
}

/** Changes with every edit, every package and every Node version. None where a link lies among the sources: edits of what it leads to would not count. */
function fingerprintOf(root: string): string | undefined {
  const entries = SOURCES.flatMap((folder) =>
    [...entriesBelow(join(root, folder))].map((e) => ({ ...e, path: join(root, folder, e.path) })),
  )
  // Editors mark open files by hidden links.
  if (entries.some(({ kind, path }) => kind === 'Other' && !basename(path).startsWith('.'))) return undefined
  const files = entries.flatMap(({ kind, path }) => (kind === 'File' && /\.(ts|json|yaml)$/.test(path) ? [path] : []))
  const hash = createHash('sha256').update(process.version)
  for (const path of [join(root, 'package-lock.json'), ...files.sort()]) {
    const { size, mtimeMs } = statSync(path)
    hash.update(`${path}\0${size}\0${mtimeMs}\n`)
  }
  return hash.digest('hex').slice(0, 16)
}

function forgetOld(builds: string): void {
  const age = (name: string) => lstatSync(join(builds, name)).mtimeMs
  const names = readdirSync(builds).sort((a, b) => age(b) - age(a))
  for (const name of names.slice(MOST_KEPT)) rmSync(join(builds, name), { recursive: true, force: true })
}

/** In a process of its own: a bundler takes hundreds of megabytes, which a long-running program would keep. */
export async function buildApart(options: BuildOptions): Promise<Entries> {
  const { root } = options
  await ran(options, [join(root, 'src/cli/build.ts')], BUILD_WITHIN_MS)
  return builtOf(options) ?? sourcesOf(root)
}

/** One process compiles for all what each of them would compile at the same moment. */
const warm = (options: BuildOptions, built: Entries): Promise<void> =>
  ran(options, [entryIn(built, 'warm'), ...PARTS], WARM_WITHIN_MS)

/** Whatever becomes of it: what it was to make is there afterwards or is not. */
function ran({ node, env }: BuildOptions, args: readonly string[], withinMs: number): Promise<void> {
  return new Promise((done) => {
    const child = spawn(node, args, { stdio: 'ignore', env, timeout: withinMs, killSignal: 'SIGKILL' })
    child.once('error', () => done())
    child.once('exit', () => done())
  })
}
