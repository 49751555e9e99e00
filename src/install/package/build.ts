// Bundles the fleet's programs into a few plain files: twenty processes that each load hundreds of small ones would take half of the startup time on a small
// machine. A build matches its exact sources: an edit triggers a new one, and without a bundler the sources run directly.
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
  /** Stops a build that runs in its own process. */
  readonly signal?: AbortSignal
}

/** Bundled on its own: code shared with other programs would pull in whole files, and each node has one agent. */
const AGENT = 'agent-main'
/** These find files next to themselves, or are rarely loaded; openpgp is under the LGPL and must stay replaceable. */
const LEFT_OUT = [
  'pino',
  'rolldown',
  'cdk8s',
  '@kubernetes/client-node',
  'isomorphic-git',
  'openid-client',
  'openpgp',
] as const
/** A running fleet loads parts of its build late, so the previous one may still be in use. */
const MOST_KEPT = 3
/** Checkouts that share their packages share their builds, and each start of another one may be in use. A build has 15 MB. */
const KEPT_FOR_MS = 3_600_000
/** Names the newest build. */
const CURRENT = 'current'
/** A slow machine takes a tenth of this. */
const BUILD_WITHIN_MS = 120_000

export const manifestsBy = ({ folder, ending }: Entries, root: string): Manifests =>
  ending === '.mjs' ? builtManifests(folder) : manifestsOf(join(root, 'deploy'))

/** Falls back to the sources if nothing can be built or cached: a build only saves time. */
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
    // Edited meanwhile: the build matches neither version of the sources.
    if (fingerprintOf(root) !== fingerprint) return sources
    const folder = join(builds, fingerprint)
    const built: Entries = { folder, ending: '.mjs' }
    // Complete or missing. A build from a concurrent start may already be in use and loads parts late.
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

/** Equal sources give equal files. The folder exists. */
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
    // KubeNode's modules have no side effects on import. Left to guess, the bundler keeps some imports needlessly, and not always the same ones.
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
  for (const made of output) if (made.type === 'chunk') writeFileSync(join(folder, made.fileName), inAscii(made.code))
}

/** The engine keeps the text of a module, with two bytes per character as soon as one of them is not ASCII. Escaping that one halves it. */
export const inAscii = (code: string): string =>
  // eslint-disable-next-line no-control-regex -- the characters of ASCII
  code.replace(/[^\x00-\x7f]/g, (c) => `\\u${c.charCodeAt(0).toString(16).padStart(4, '0')}`)

/** bin/kubenode reads this mark and starts the build until a source changes. An edit during the build counts as a change. */
function markCurrent(builds: string, fingerprint: string, beganAt: number): void {
  const path = join(builds, CURRENT)
  writeWholeFile(path, `${fingerprint}\n`)
  utimesSync(path, beganAt / 1_000, beganAt / 1_000)
}

/**
 * Returns the build of these exact sources, which `bin/kubenode` starts from now on. A file that an editor created and deleted again is newer than the mark;
 * without this, everything would run slowly from the sources until the next edit.
 */
export function markedBuild(where: Place): Entries | undefined {
  const beganAt = Date.now()
  const built = builtOf(where)
  try {
    if (built !== undefined) markCurrent(buildsIn(where.cache), basename(built.folder), beganAt)
  } catch {
    // The cache cannot be written: the sources run.
  }
  return built
}

function forgetOld(builds: string): void {
  const age = (name: string) => lstatSync(join(builds, name)).mtimeMs
  const names = readdirSync(builds)
    .filter((name) => name !== CURRENT)
    .sort((a, b) => age(b) - age(a))
  for (const name of names.slice(MOST_KEPT))
    if (Date.now() - age(name) > KEPT_FOR_MS) rmSync(join(builds, name), { recursive: true, force: true })
}

/** In its own process: a bundler takes hundreds of megabytes, which a long-running program would keep. */
export async function buildApart(options: BuildApart): Promise<Entries> {
  const { root, node, env, signal } = options
  // Whatever its exit: afterwards the build exists or it does not.
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
