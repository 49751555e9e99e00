// Keeps a bare copy of a remote repository with the git program: one branch or tag at a time, no hooks, no submodules, no symlinks, no prompts.
import { spawn } from 'node:child_process'
import { createHash } from 'node:crypto'
import { existsSync, lstatSync, mkdirSync, renameSync, rmSync } from 'node:fs'
import { basename, join } from 'node:path'
import { entriesBelow, isRealFolder } from '#lib/entries-below.ts'
import { KubeNodeError, messageOf } from '#lib/errors.ts'
import { makeOwnedFolder, sweepOwnedFolders } from '#lib/owned-folders.ts'
import { requireOwn } from '#lib/private-folder.ts'
import type { GitAccess } from './access.ts'
import { withAccess } from './access-env.ts'
import { fetchProblem, unknownProblem } from './fetch-problem.ts'
import { isLocal } from './locate.ts'
import { openLocalRepository, type LocalRepository } from './local-repository.ts'
import { SAFE_ENV, SAFE_SETTINGS } from './safe-settings.ts'
import { limited } from '../limited.ts'
import { syncErrors } from '../sync-errors.ts'

export interface MirrorOptions {
  /** Where copies are kept. */
  readonly cacheDir: string
  /** The only environment that git gets, to find itself and ssh: PATH. */
  readonly env?: Readonly<Record<string, string>>
  readonly deadlineMs?: number
  /** Without it, none. */
  readonly access?: GitAccess
  /** The owner of the copy; defaults to the URL. */
  readonly reader?: string
}

const DEFAULT_DEADLINE_MS = 120_000
const MAX_GIT_OUTPUT = 64 * 1024

/** A repository with foreign content is unpacked in bounded memory: large files are streamed, and only indexed packs are stored. */
const SAFE = [
  ...SAFE_SETTINGS,
  ...[
    'core.bigFileThreshold=1m',
    'core.deltaBaseCacheLimit=64m',
    'pack.threads=2',
    'fetch.unpackLimit=1',
    'transfer.fsckObjects=true',
    'gc.auto=0',
  ].flatMap((setting) => ['-c', setting]),
]

const GIB = 1024 * 1024 * 1024
const LIMITS = {
  /** That git and its children may write to, each; a fleet with all its history takes a tenth of it. */
  dataBytes: GIB,
  /** The largest pack that we accept. */
  fileBytes: 4 * GIB,
}

export interface WantedRef {
  readonly branch?: string | undefined
  readonly tag?: string | undefined
  readonly commit?: string | undefined
}

/** Fetches the ref and returns the copy. A local repository needs no copy. */
export async function fetchMirror(url: string, ref: WantedRef, options: MirrorOptions): Promise<LocalRepository> {
  const dir = join(
    options.cacheDir,
    createHash('sha256')
      .update(options.reader ?? url)
      .digest('hex')
      .slice(0, 32),
  )
  // A link in its place is replaced like an unfinished copy.
  if (isRealFolder(dir) && existsSync(join(dir, 'HEAD'))) {
    // git would do whatever its configuration says
    requireOwn(dir)
    removeLeftovers(dir, options)
  } else await initialize(dir, url, options)
  const spec = refSpec(ref)
  const fetch = ['fetch', '--quiet', '--no-tags', '--force', '--no-recurse-submodules', '--no-auto-maintenance']
  const { env = {}, access = { kind: 'Anonymous' }, deadlineMs = DEFAULT_DEADLINE_MS } = options
  const keys = { parent: options.cacheDir, prefix: 'key-', maxAgeMs: 2 * deadlineMs }
  const args = [`--git-dir=${dir}`, ...fetch, '--', url, spec]
  await withAccess({ access, env, keys }, (given) => runGit(args, url, { ...options, env: given }))
  return openLocalRepository(dir)
}

/** Created beside its place and moved there whole: a copy started by a killed process is never taken for a complete one. */
async function initialize(dir: string, url: string, options: MirrorOptions): Promise<void> {
  const { cacheDir, deadlineMs = DEFAULT_DEADLINE_MS } = options
  const folders = { parent: cacheDir, prefix: 'new-', maxAgeMs: 2 * deadlineMs }
  mkdirSync(cacheDir, { recursive: true, mode: 0o700 })
  sweepOwnedFolders(folders)
  const made = makeOwnedFolder(folders)
  try {
    await runGit(['init', '--quiet', '--bare', '--template=', '--', made], url, options)
    rmSync(dir, { recursive: true, force: true })
    renameSync(made, dir)
  } finally {
    rmSync(made, { recursive: true, force: true })
  }
}

/** Leftovers of a killed git in a repository: its locks block every later fetch, its half packs are never used. */
const LEFTOVER = /(\.lock|^tmp_(pack|idx|rev|obj)_.*)$/

const WITH_LEFTOVERS = /^(objects|objects\/pack|refs(\/.*)?)$/s

/** Only files older than any git that sync started can be. */
function removeLeftovers(dir: string, { deadlineMs = DEFAULT_DEADLINE_MS }: MirrorOptions): void {
  const before = Date.now() - 2 * deadlineMs
  const found = [...entriesBelow(dir, (folder) => WITH_LEFTOVERS.test(folder))]
  for (const path of found.filter((e) => LEFTOVER.test(basename(e.path))).map((e) => join(dir, e.path))) {
    const stat = lstatSync(path, { throwIfNoEntry: false })
    if (stat !== undefined && stat.mtimeMs < before) rmSync(path, { recursive: true, force: true })
  }
}

function refSpec({ branch, tag, commit }: WantedRef): string {
  if (branch !== undefined) return `+refs/heads/${branch}:refs/heads/${branch}`
  if (tag !== undefined) return `+refs/tags/${tag}:refs/tags/${tag}`
  return `${commit ?? 'HEAD'}:refs/kubenode/commit`
}

/** The only one that git may use, whatever its configuration or the server says. */
const protocolOf = (url: string): string => (isLocal(url) ? 'file' : (url.split(':', 1)[0] ?? ''))

async function runGit(args: readonly string[], url: string, options: MirrorOptions): Promise<void> {
  const { env = {}, deadlineMs = DEFAULT_DEADLINE_MS, access = { kind: 'Anonymous' } } = options
  if (!isLocal(url) && !/^(https|ssh):\/\//.test(url)) throw new KubeNodeError(syncErrors.KN7018({ url }))
  const { file, args: whole } = limited(LIMITS, ['git', ...SAFE, ...args])
  const child = spawn(file, whole, {
    stdio: ['ignore', 'ignore', 'pipe'],
    detached: true,
    env: { ...env, ...SAFE_ENV, GIT_ALLOW_PROTOCOL: protocolOf(url) },
  })
  let said = ''
  child.stderr.setEncoding('utf8')
  child.stderr.on('data', (text: string) => (said = (said + text).slice(0, MAX_GIT_OUTPUT)))
  let isLate = false
  const timer = setTimeout(() => {
    isLate = true
    if (child.pid !== undefined) process.kill(-child.pid, 'SIGKILL')
  }, deadlineMs)
  try {
    const code = await new Promise<number | null>((resolve, reject) => {
      child.once('error', reject)
      child.once('close', resolve)
    })
    if (code === 0) return
    if (isLate) throw unknownProblem(url, `not finished after ${deadlineMs} ms`)
    throw await fetchProblem({ url, access, said: said.trim() === '' ? `exit ${code}` : said })
  } catch (error) {
    throw error instanceof KubeNodeError ? error : unknownProblem(url, messageOf(error))
  } finally {
    clearTimeout(timer)
  }
}
