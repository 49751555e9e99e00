// The programs of the fleet in a few plain files: twenty processes that each load hundreds of small ones would take half of a start on a small machine.
// A build belongs to the sources that it was made from: an edit makes a new one, and without a bundler the sources themselves run.
import { spawn } from 'node:child_process'
import { lstatSync, mkdirSync, mkdtempSync, readdirSync, renameSync, rmSync, utimesSync, writeFileSync } from 'node:fs'
import { basename, join } from 'node:path'
import { builtManifests, MANIFESTS, type Manifests, manifestsOf } from '#delivery/release-manifests.ts'
import { defined } from '#lib/defined.ts'
import { writeWholeFile } from '#lib/whole-file.ts'
import { BUNDLE_FOLDER } from '#sync/render/bundle.ts'
import {
  buildsIn,
  builtOf,
  ENTRIES,
  fingerprintOf,
  isWhole,
  sourceOf,
  sourcesOf,
  type Entries,
  type EntryName,
  type Place,
} from './built.ts'
import { bundleCage } from './bundle-cage.ts'

interface BuildApart extends Place {
  readonly node: string
  readonly env: Readonly<Record<string, string>>
  /** Ends a build that runs apart. */
  readonly signal?: AbortSignal
}

/** Bundled on its own: of what it shares with other programs it would load whole files, and each node has one. */
const AGENT = 'agent-main'
/** They look for files beside themselves, or are loaded by few and late; openpgp is under the LGPL, and stays a file that can be replaced. */
const LEFT_OUT = [
  'pino',
  'rolldown',
  'cdk8s',
  '@kubernetes/client-node',
  'isomorphic-git',
  'openid-client',
  'openpgp',
] as const
/** A fleet that runs loads parts of its build late; the one before it may still be in use. */
const MOST_KEPT = 3
/** Names the newest build. */
const CURRENT = 'current'
/** A slow machine takes a tenth of it. */
const BUILD_WITHIN_MS = 120_000

export const manifestsBy = ({ folder, ending }: Entries, root: string): Manifests =>
  ending === '.mjs' ? builtManifests(folder) : manifestsOf(join(root, 'deploy'))

/** Answers with the sources where nothing can be built or kept: it only saves time. */
export async function build({ root, cache }: Place): Promise<Entries> {
  const sources = sourcesOf(root)
  const builds = buildsIn(cache)
  const beganAt = Date.now()
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
    markCurrent(builds, fingerprint, beganAt)
    return built
  } catch {
    return sources
  } finally {
    if (made !== undefined) rmSync(made, { recursive: true, force: true })
  }
}

/** Equal sources make equal files. The folder exists. */
export async function bundlePrograms(root: string, folder: string): Promise<void> {
  const others = ENTRIES.filter((name) => name !== AGENT)
  for (const names of [others, [AGENT] as const]) await bundleTogether(names, root, folder)
  await bundleCage(root, join(folder, BUNDLE_FOLDER))
  writeFileSync(join(folder, MANIFESTS), JSON.stringify(manifestsOf(join(root, 'deploy'))))
}

const OURS_DO_NOTHING = { test: /\.ts$/, sideEffects: false }

async function bundleTogether(names: readonly EntryName[], root: string, folder: string): Promise<void> {
  const { rolldown } = await import('rolldown')
  const bundle = await rolldown({
    cwd: root,
    input: Object.fromEntries(names.map((name) => [name, sourceOf(root, name)])),
    platform: 'node',
    external: LEFT_OUT.map((name) => new RegExp(`^${name}(/|$)`)),
    // Our modules do nothing when they are loaded. Guessing that of each, the builder imports some for nothing, not always the same ones.
    treeshake: { moduleSideEffects: [{ test: /\/node_modules\//, sideEffects: true }, OURS_DO_NOTHING] },
    logLevel: 'silent',
  })
  const { output } = await bundle.write({
    dir: folder,
    format: 'esm',
    entryFileNames: '[name].mjs',
    chunkFileNames: '[name]-[hash].mjs',
    comments: false,
  })
  await bundle.close()
  for (const made of output) if (made.type === 'chunk') writeFileSync(join(folder, made.fileName), inOneByte(made.code))
}

/** A program keeps its text in memory, with two bytes for every character as soon as one of them needs two. The same character as an escape needs one. */
export const inOneByte = (code: string): string =>
  // eslint-disable-next-line no-control-regex -- the characters of Latin-1
  code.replace(/[^\x00-\xff]/g, (c) => `\\u${c.charCodeAt(0).toString(16).padStart(4, '0')}`)

/** Read by bin/kubenode, which starts this build until a source has changed since. An edit during the build counts as one. */
function markCurrent(builds: string, fingerprint: string, beganAt: number): void {
  const path = join(builds, CURRENT)
  writeWholeFile(path, `${fingerprint}\n`)
  utimesSync(path, beganAt / 1_000, beganAt / 1_000)
}

/**
 * The build of these very sources, and `bin/kubenode` starts it from now on. A file that an editor made and deleted again is newer than the mark, without
 * which everything would run from the sources, slowly, until the next edit.
 */
export function markedBuild(where: Place): Entries | undefined {
  const beganAt = Date.now()
  const built = builtOf(where)
  try {
    if (built !== undefined) markCurrent(buildsIn(where.cache), basename(built.folder), beganAt)
  } catch {
    // a cache that cannot be written: the sources run
  }
  return built
}

function forgetOld(builds: string): void {
  const age = (name: string) => lstatSync(join(builds, name)).mtimeMs
  const names = readdirSync(builds)
    .filter((name) => name !== CURRENT)
    .sort((a, b) => age(b) - age(a))
  for (const name of names.slice(MOST_KEPT)) rmSync(join(builds, name), { recursive: true, force: true })
}

/** In a process of its own: a bundler takes hundreds of megabytes, which a long-running program would keep. */
export async function buildApart(options: BuildApart): Promise<Entries> {
  const { root, node, env, signal } = options
  // Whatever becomes of it: what it was to make is there afterwards or is not.
  await new Promise<void>((done) => {
    const child = spawn(node, [join(root, 'build/first-start.ts')], {
      stdio: 'ignore',
      env,
      timeout: BUILD_WITHIN_MS,
      killSignal: 'SIGKILL',
      ...defined({ signal }),
    })
    child.once('error', () => done())
    child.once('exit', () => done())
  })
  signal?.throwIfAborted()
  return builtOf(options) ?? sourcesOf(root)
}
