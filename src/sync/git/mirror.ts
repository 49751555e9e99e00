// Keeps a bare copy of a remote repository with the git program: one branch or tag at a time, without hooks, submodules, symlinks or prompts.
import { existsSync, lstatSync, mkdirSync, readdirSync, renameSync, rmSync } from 'node:fs'
import { basename, join } from 'node:path'
import { MIB } from '#lib/bytes.ts'
import { isKubeNodeError, KubeNodeError } from '#lib/errors.ts'
import { entriesBelow, isRealFolder } from '#lib/entries-below.ts'
import { makeOwnedFolder, sweepOwnedFolders } from '#lib/owned-folders.ts'
import { requireOwn } from '#lib/private-folder.ts'
import { sha256Hex } from '#lib/sha256.ts'
import type { GitAccess } from './access.ts'
import { makeBare } from './bare.ts'
import { branchesIn, branchHint } from './branches-there.ts'
import { boundOfAll, roomFor, usageOf, type CopiesUsage } from './copies.ts'
import { missingRef, unknownProblem } from './fetch-problem.ts'
import type { GitReach } from './reach.ts'
import { openLocalRepository, type LocalRepository } from './local-repository.ts'
import { refFileName } from './revision.ts'
import { runGit } from './run-git.ts'
import { fetchRef, hasGit, listRefs, type RefSpec, type ServerCall } from './server-calls.ts'
import { syncErrors } from '../sync-errors.ts'

export interface MirrorOptions {
  readonly cacheDir: string
  /** The only environment that git gets: PATH, to find itself and ssh. */
  readonly env?: Readonly<Record<string, string>>
  readonly deadlineMs?: number
  readonly maxBytes?: number
  /** Without it, there are no credentials. */
  readonly access?: GitAccess
  /** Which servers may be called; default: none on this machine. */
  readonly reach?: GitReach
  /** The owner of the copy; defaults to the URL. */
  readonly reader?: string
}

const DEFAULT_DEADLINE_MS = 120_000
/** Total size of one copy. Several fit on the disk that an installation gives sync. */
export const DEFAULT_MAX_BYTES = 1024 * 1024 * 1024

export interface WantedRef {
  readonly branch?: string | undefined
  readonly tag?: string | undefined
  readonly commit?: string | undefined
}

/** Fetches the ref and returns the copy. A local repository needs no copy. */
export async function fetchMirror(url: string, ref: WantedRef, options: MirrorOptions): Promise<LocalRepository> {
  const dir = copyOf(options.cacheDir, options.reader ?? url)
  // A link in its place is replaced like an unfinished copy.
  if (isRealFolder(dir) && existsSync(join(dir, 'HEAD'))) {
    // git follows whatever its configuration contains
    requireOwn(dir)
    removeLeftovers(dir, options)
    await joinPacks(dir, url, options)
  } else initialize(dir, options)
  const usage = usageOf(options.cacheDir, boundOfAll(options.maxBytes ?? DEFAULT_MAX_BYTES))
  const room = roomFor(dir, usage)
  if (room <= 0) throw allTooLarge(url, usage)
  const asked = callOf(url, dir, options)
  const { within } = asked.run
  const call = { ...asked, run: { ...asked.run, within: { ...within, maxBytes: Math.min(within.maxBytes, room) } } }
  const before = new Set(leftoversIn(dir))
  try {
    await fetchRef(call, refSpec(ref))
  } catch (error) {
    // Half a pack from an interrupted fetch wastes disk space. Within this process, only one fetch writes to a copy at a time.
    for (const path of leftoversIn(dir)) if (!before.has(path)) rmSync(path, { recursive: true, force: true })
    if (room < within.maxBytes && isKubeNodeError(error) && error.code === syncErrors.KN7046.code)
      throw allTooLarge(url, usage)
    throw await explained(error, ref, call)
  }
  return openLocalRepository(dir, { copyOf: url })
}

const allTooLarge = (url: string, { bytes, maxBytes, copies }: CopiesUsage): KubeNodeError => {
  const [used, limit] = [bytes, maxBytes].map((n) => Math.round(n / MIB)) as [number, number]
  return new KubeNodeError(syncErrors.KN7057({ url, limit, copies, used }), { retry: 'later' })
}

/** The copy made by an earlier fetch, or an earlier process; undefined if it lacks the commit. */
export async function openMirror(
  { cacheDir, reader, url }: { readonly cacheDir: string; readonly reader: string; readonly url: string },
  commit: string,
): Promise<LocalRepository | undefined> {
  const dir = copyOf(cacheDir, reader)
  if (!isRealFolder(dir) || !existsSync(join(dir, 'HEAD'))) return undefined
  requireOwn(dir)
  const copy = openLocalRepository(dir, { copyOf: url })
  return copy.commit(commit).then(
    () => copy,
    () => undefined,
  )
}

/** A list this long may be cut off: a branch missing from it may still exist. */
const WHOLE_LIST_BYTES = 48 * 1024

/** Commits by branch name below this folder of branches, as the server has them now. */
export async function branchesOf(
  url: string,
  folder: string,
  options: MirrorOptions,
): Promise<ReadonlyMap<string, string>> {
  const dir = copyOf(options.cacheDir, options.reader ?? url)
  if (!isRealFolder(dir)) initialize(dir, options)
  requireOwn(dir)
  const text = await listRefs(callOf(url, dir, options), [`refs/heads/${folder}/`])
  if (Buffer.byteLength(text) > WHOLE_LIST_BYTES)
    throw unknownProblem(url, `it has too many branches below ${folder}/ to list them; delete unused ones`)
  return branchesIn(text).heads
}

/** Adds what the server has instead of a branch that no longer exists. Returns the error itself if that is unknown. */
async function explained(failed: unknown, { branch }: WantedRef, call: ServerCall): Promise<unknown> {
  if (!isKubeNodeError(failed) || failed.code !== syncErrors.KN7049.code || branch === undefined) return failed
  const { dir, run } = call
  let text = ''
  try {
    text = await listRefs(call, ['HEAD', 'refs/heads/'])
  } catch {
    return failed
  }
  const last = await openLocalRepository(dir)
    .resolve(`refs/heads/${branch}`)
    .catch(() => undefined)
  return missingRef({ url: run.url, ref: `branch ${branch}`, hint: branchHint(branchesIn(text), last) })
}

const copyOf = (cacheDir: string, reader: string): string => join(cacheDir, copyName(reader))
const COPY_CHARS = 32
const copyName = (reader: string): string => sha256Hex(reader).slice(0, COPY_CHARS)
const COPY = new RegExp(`^[0-9a-f]{${COPY_CHARS}}$`)

/** A source that is recreated within this time finds its copy; so does a hub that shares the folder and was offline. */
const KEPT_UNUSED_MS = 7 * 24 * 3_600_000

/** Removes copies that no source reads and that were not fetched for a week; with `isFull`, immediately. */
export function removeUnusedCopies(cacheDir: string, readers: ReadonlySet<string>, now: number, isFull = false): void {
  const used = new Set([...readers].map(copyName))
  for (const name of existsSync(cacheDir) ? readdirSync(cacheDir) : []) {
    const dir = join(cacheDir, name)
    if (!COPY.test(name) || used.has(name) || !isRealFolder(dir)) continue
    const times = [dir, join(dir, 'FETCH_HEAD')].map((path) => lstatSync(path, { throwIfNoEntry: false })?.mtimeMs ?? 0)
    if (isFull || Math.max(...times) < now - KEPT_UNUSED_MS) rmSync(dir, { recursive: true, force: true })
  }
}

/** Each fetch of new commits leaves a pack, and sync's reader supports a thousand. */
const MOST_PACKS = 50
const MOST_PACKS_UNJOINED = 900

/** Drops nothing: a commit that was pushed away may still roll out. */
async function joinPacks(dir: string, url: string, options: MirrorOptions): Promise<void> {
  const packs = readdirSync(join(dir, 'objects/pack')).filter((name) => name.endsWith('.idx'))
  if (packs.length < MOST_PACKS) return
  const { run } = callOf(url, dir, options)
  const { folder, maxBytes } = run.within
  if (!hasGit(run.env)) {
    // Without git, packs cannot be joined: drop the copy and fetch everything again. Commits that were pushed away are lost with it.
    if (packs.length < MOST_PACKS_UNJOINED) return
    rmSync(dir, { recursive: true, force: true })
    initialize(dir, options)
    return
  }
  try {
    await runGit([`--git-dir=${dir}`, 'repack', '--quiet', '-d', '-n', '--geometric=2'], {
      ...run,
      // Old and new packs exist side by side for a short time.
      within: { folder, maxBytes: 2 * maxBytes },
    })
  } catch (error) {
    // The fetch does not need the join; the next fetch tries again.
    if (!isKubeNodeError(error)) throw error
  }
}

function callOf(url: string, dir: string, options: MirrorOptions): ServerCall {
  const { env = {}, access = { kind: 'Anonymous' }, deadlineMs = DEFAULT_DEADLINE_MS, reach = {} } = options
  const within = { folder: dir, maxBytes: options.maxBytes ?? DEFAULT_MAX_BYTES }
  return { run: { url, env, access, deadlineMs, within, reach }, cacheDir: options.cacheDir, dir }
}

/** Created next to its final path and moved there when complete, so that a copy started by a killed process is never mistaken for a complete one. */
function initialize(dir: string, { cacheDir, deadlineMs = DEFAULT_DEADLINE_MS }: MirrorOptions): void {
  const folders = { parent: cacheDir, prefix: 'new-', maxAgeMs: 2 * deadlineMs }
  mkdirSync(cacheDir, { recursive: true, mode: 0o700 })
  sweepOwnedFolders(folders)
  const made = makeOwnedFolder(folders)
  try {
    makeBare(made)
    rmSync(dir, { recursive: true, force: true })
    renameSync(made, dir)
  } finally {
    rmSync(made, { recursive: true, force: true })
  }
}

/** Leftovers of a killed git in a repository: its locks block every later fetch, and its half packs are never used. */
const LEFTOVER = /(\.lock|^tmp_(pack|idx|rev|obj)_.*)$/

const WITH_LEFTOVERS = /^(objects|objects\/pack|refs(\/.*)?)$/s

const leftoversIn = (dir: string): readonly string[] =>
  [...entriesBelow(dir, (folder) => WITH_LEFTOVERS.test(folder))]
    .filter((e) => LEFTOVER.test(basename(e.path)))
    .map((e) => join(dir, e.path))

/** Only files older than any git that sync could have started. */
function removeLeftovers(dir: string, { deadlineMs = DEFAULT_DEADLINE_MS }: MirrorOptions): void {
  const before = Date.now() - 2 * deadlineMs
  for (const path of leftoversIn(dir)) {
    const stat = lstatSync(path, { throwIfNoEntry: false })
    if (stat !== undefined && stat.mtimeMs < before) rmSync(path, { recursive: true, force: true })
  }
}

/** A pattern would fetch every ref of the server. */
function sameRef(ref: string): RefSpec {
  if (refFileName(ref) === undefined)
    throw new KubeNodeError(syncErrors.KN7010_form({ revision: JSON.stringify(ref.slice(0, 100)) }))
  return { from: ref, to: ref }
}

function refSpec({ branch, tag, commit }: WantedRef): RefSpec {
  if (branch !== undefined) return sameRef(`refs/heads/${branch}`)
  if (tag !== undefined) return sameRef(`refs/tags/${tag}`)
  return { from: commit ?? 'HEAD', to: 'refs/kubenode/commit' }
}
