// Frees space: removes old regular files below listed folders, oldest first, until enough is free. Never removes an open file, never follows a link,
// never removes more than a bounded number. A dry run finds the same files and removes none.
import { readdirSync, realpathSync, statSync } from 'node:fs'
import { setImmediate } from 'node:timers/promises'
import type { Clock } from '#lib/clock.ts'
import { parseDuration } from '#lib/duration.ts'
import { counted } from '#lib/counted.ts'
import { printableLine } from '#lib/printable.ts'
import { outputOf } from '../detect/npd/service-state.ts'
import { onNode, type NodeDir } from '../node-dir.ts'
import { spaceAt } from '../played-host.ts'
import { findFiles, removeFound, type FoundFile } from './folder-walk.ts'
import type { JobOperation } from './plan.ts'
import type { StepResult } from './steps.ts'

/** The only roots that a job may list folders below: temporary files, caches, logs, and dumps of programs that crashed. */
export const CLEANABLE = [
  '/tmp',
  '/var/tmp',
  '/var/cache',
  '/var/log',
  '/var/crash',
  '/var/lib/systemd/coredump',
  '/var/spool/abrt',
] as const
/** Cleaned when the job lists no folders. */
const DEFAULT_PATHS: readonly string[] = ['/tmp', '/var/tmp', '/var/cache']

const LIMITS = { entries: 100_000, depth: 16 }
export const MAX_REMOVED = 10_000
/** Files per batch; after each batch other tasks get a turn, and enough may be free. */
const AT_ONCE = 100
const MAX_PROCESSES = 10_000
const IMAGES_MS = 120_000
const SECOND_MS = 1_000
/** Files unchanged for days are rarely opened within seconds. */
const OPEN_FRESH_MS = 5_000
const TURN = 100

type Wanted = NonNullable<JobOperation['cleanDisk']>

export const isCleanable = (path: string): boolean =>
  !path.split('/').some((p) => p === '..' || p === '.') &&
  CLEANABLE.some((root) => path === root || path.startsWith(`${root}/`))

export async function cleanDisk(
  { dir, clock }: { readonly dir: NodeDir; readonly clock: Clock },
  wanted: Wanted,
  signal: AbortSignal,
): Promise<StepResult> {
  const cleanings = cleaningsOf(wanted)
  const forbidden = cleanings.find((c) => !isCleanable(c.path))
  if (forbidden !== undefined)
    return { outcome: 'Failed', output: `${forbidden.path} is not below one of ${CLEANABLE.join(', ')}` }
  // The folders themselves may be on other disks than the node's root.
  const roots = cleanings.flatMap((c) => rootOf(dir, c.path).map((root) => ({ ...c, root })))
  const spaces = new Spaces(dir, wanted.dryRun)
  const lowest = async (): Promise<number> =>
    Math.min(...(await Promise.all([...roots.map(({ root }) => root), dir.root].map((r) => spaces.percent(r)))))
  const isOverShare = roots.some((c) => c.maxShare !== undefined)
  const before = await lowest()
  if (before >= wanted.untilFree && !isOverShare) return { outcome: 'Skipped', output: `${before} % are free` }
  const isHost = dir.root === '/' && !wanted.dryRun
  const images = wanted.images && isHost ? await removeImages() : ''
  const journals = wanted.journal && isHost ? await removeJournals(wanted.olderThan) : ''
  const open = new OpenFiles(clock)
  const removed: Removed[] = []
  let left = MAX_REMOVED
  for (const { root, path, ...rule } of roots) {
    const found = await findFiles(root, LIMITS, () => true)
    const { blocks, bsize } = await spaceAt(dir, root)
    const candidates = removable(found, rule, { now: clock.now(), diskBytes: blocks * bsize })
    const here = { path, files: 0, bytes: 0, largest: undefined as FoundFile | undefined }
    for (let n = 0; n < candidates.length && left > 0; n += AT_ONCE) {
      // A directory over its own limit is cut down to it, however much is free.
      if (rule.maxShare === undefined && (await spaces.percent(root)) >= wanted.untilFree) break
      signal.throwIfAborted()
      const isOpen = await open.now()
      for (const file of candidates.slice(n, n + Math.min(AT_ONCE, left))) {
        if (isOpen.has(`${file.device}:${file.inode}`) || !spaces.remove(root, file)) continue
        if (here.largest === undefined || file.bytes > here.largest.bytes) here.largest = file
        here.bytes += file.bytes
        here.files++
        left--
      }
      await clock.sleep(0)
    }
    removed.push(here)
  }
  const free = await lowest()
  if (wanted.dryRun) return { outcome: 'Succeeded', output: wouldRemove(removed, free) }
  const output = `removed ${totalOf(removed)}${images}${journals}, ${free} % are free`
  return { outcome: free >= wanted.untilFree ? 'Succeeded' : 'Failed', output }
}

export interface Freed {
  readonly path: string
  readonly files: number
  readonly bytes: number
}

interface Removed extends Freed {
  readonly largest: FoundFile | undefined
}

/** The largest file of each folder is what a person wants to see before it goes. */
function wouldRemove(removed: readonly Removed[], free: number): string {
  const largest = removed.flatMap(({ path, largest: file }) =>
    file === undefined ? [] : `${printableLine([path, ...file.names].join('/'))} with ${file.bytes}`,
  )
  const shown = largest.length > 0 ? `; the largest of each: ${largest.join('; ')}` : ''
  return `dry run, nothing removed: it would remove ${totalOf(removed)}${shown}; ${free} % would be free, without images and journals`
}

/** What is free on each file system. A dry run counts what it would have freed. */
class Spaces {
  readonly #dir: NodeDir
  readonly #isDryRun: boolean
  readonly #freed = new Map<number, { bytes: number; files: number }>()

  constructor(dir: NodeDir, isDryRun: boolean) {
    this.#dir = dir
    this.#isDryRun = isDryRun
  }

  async percent(path: string): Promise<number> {
    const { bavail, bsize, blocks, ffree, files } = await spaceAt(this.#dir, path)
    const freed = this.#freed.get(statSync(path).dev) ?? { bytes: 0, files: 0 }
    const more = Math.floor(freed.bytes / bsize)
    return leastFree({ bavail: bavail + more, blocks, ffree: ffree + freed.files, files })
  }

  remove(root: string, file: FoundFile): boolean {
    if (!this.#isDryRun) return removeFound(root, file)
    const freed = this.#freed.get(file.device) ?? { bytes: 0, files: 0 }
    this.#freed.set(file.device, { bytes: freed.bytes + file.bytes, files: freed.files + 1 })
    return true
  }
}

/** In sum, and for each folder that lost something. */
export function totalOf(removed: readonly Freed[]): string {
  const sum = (of: (r: Freed) => number): number => removed.reduce((n, r) => n + of(r), 0)
  const each = removed.filter((r) => r.files > 0).map((r) => `${r.path}: ${r.files} with ${r.bytes}`)
  const where = each.length > 0 ? ` (${each.join('; ')})` : ''
  return `${counted(
    sum((r) => r.files),
    'file',
  )} with ${sum((r) => r.bytes)} bytes${where}`
}

export interface Cleaning {
  readonly path: string
  readonly olderThanMs: number
  readonly keep: number
  readonly maxShare: number | undefined
}

export function cleaningsOf(wanted: Wanted): readonly Cleaning[] {
  const olderThanMs = parseDuration(wanted.olderThan)
  const paths = wanted.paths ?? (wanted.directories === undefined ? DEFAULT_PATHS : [])
  return [
    ...paths.map((path) => ({ path, olderThanMs, keep: 0, maxShare: undefined })),
    ...(wanted.directories ?? []).map((d) => ({
      path: d.path,
      olderThanMs: d.olderThan === undefined ? olderThanMs : parseDuration(d.olderThan),
      keep: d.keep,
      maxShare: d.maxShare,
    })),
  ]
}

/** Oldest first. Of a directory with a limit, as few as bring it below the limit. */
export function removable<F extends { readonly modifiedMs: number; readonly bytes: number }>(
  files: readonly F[],
  { olderThanMs, keep, maxShare }: Omit<Cleaning, 'path'>,
  { now, diskBytes }: { readonly now: number; readonly diskBytes: number },
): readonly F[] {
  const byAge = files.toSorted((a, b) => a.modifiedMs - b.modifiedMs)
  const old = byAge.slice(0, Math.max(0, byAge.length - keep)).filter((f) => now - f.modifiedMs > olderThanMs)
  if (maxShare === undefined) return old
  let over = files.reduce((sum, f) => sum + f.bytes, 0) - (diskBytes * maxShare) / 100
  return old.filter((f) => {
    if (over <= 0) return false
    over -= f.bytes
    return true
  })
}

/** A listed folder may itself be a link that the node's owner made (`/var/tmp`). A link that leads out of the listed roots is not cleaned. */
function rootOf(dir: NodeDir, path: string): readonly string[] {
  try {
    const [real, base] = [realpathSync(onNode(dir, path)), realpathSync(dir.root)]
    const onTheNode = base === '/' ? real : real.startsWith(`${base}/`) ? real.slice(base.length) : ''
    return isCleanable(onTheNode) ? [real] : []
  } catch {
    return []
  }
}

type Space = Readonly<Record<'bavail' | 'blocks' | 'ffree' | 'files', number>>

/** Of bytes or of inodes: a disk without inodes takes no file, however many bytes it has. Some file systems count no inodes. */
export function leastFree({ bavail, blocks, ffree, files }: Space): number {
  const bytes = blocks === 0 ? 1 : bavail / blocks
  const inodes = files === 0 ? 1 : ffree / files
  return Math.floor(Math.min(bytes, inodes) * 100)
}

/** The container runtime knows best which images are unused. */
async function removeImages(): Promise<string> {
  const pruned = await outputOf('crictl', ['rmi', '--prune'], { timeoutMs: IMAGES_MS })
  return pruned === undefined ? '' : ', unused images removed'
}

/** Archived ones only: the active journal stays. */
async function removeJournals(olderThan: string): Promise<string> {
  const seconds = Math.round(parseDuration(olderThan) / SECOND_MS)
  const done = await outputOf('journalctl', [`--vacuum-time=${seconds}s`], { timeoutMs: IMAGES_MS })
  return done === undefined ? '' : ', old journals removed'
}

/** Refreshed periodically: files opened since must stay. */
class OpenFiles {
  readonly #clock: Clock
  #open: ReadonlySet<string> | undefined
  #readAt = 0

  constructor(clock: Clock) {
    this.#clock = clock
  }

  async now(): Promise<ReadonlySet<string>> {
    if (this.#open === undefined || this.#clock.monotonic() - this.#readAt > OPEN_FRESH_MS) {
      this.#readAt = this.#clock.monotonic()
      this.#open = await openFiles()
    }
    return this.#open
  }
}

/** Files that any visible process has open, by inode, because paths differ between containers. */
async function openFiles(): Promise<ReadonlySet<string>> {
  const open = new Set<string>()
  const pids = readdirSync('/proc').filter((p) => p >= '0' && p <= '9~')
  for (const [n, pid] of pids.slice(0, MAX_PROCESSES).entries()) {
    if (n % TURN === TURN - 1) await setImmediate()
    try {
      for (const fd of readdirSync(`/proc/${pid}/fd`)) {
        const stat = statSync(`/proc/${pid}/fd/${fd}`, { throwIfNoEntry: false })
        if (stat?.isFile() === true) open.add(`${stat.dev}:${stat.ino}`)
      }
    } catch {
      // Another user's process, or it has exited.
    }
  }
  return open
}
