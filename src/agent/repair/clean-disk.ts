// Frees space: removes old regular files below listed folders, oldest first, until enough is free. Never removes an open file, never follows a link,
// never removes more than a bounded number.
import { readdirSync, realpathSync, statSync, statfsSync } from 'node:fs'
import { setImmediate } from 'node:timers/promises'
import type { Clock } from '#lib/clock.ts'
import { parseDuration } from '#lib/duration.ts'
import { outputOf } from '../detect/npd/service-state.ts'
import { onNode, type NodeDir } from '../node-dir.ts'
import { findFiles, removeFound } from './folder-walk.ts'
import type { JobOperation } from './plan.ts'
import type { StepResult } from './steps.ts'

/** Cleaned when the job lists no folders, and the only roots that a job may list folders below. */
const CLEANABLE = ['/tmp', '/var/tmp', '/var/cache', '/var/log'] as const
const DEFAULT_PATHS: readonly string[] = ['/tmp', '/var/tmp', '/var/cache']

const LIMITS = { entries: 100_000, depth: 16 }
const MAX_REMOVED = 10_000
/** Files per batch; after each batch other tasks get a turn, and enough may be free. */
const AT_ONCE = 100
const MAX_PROCESSES = 10_000
const IMAGES_MS = 120_000
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
  const paths = wanted.paths ?? DEFAULT_PATHS
  const forbidden = paths.find((p) => !isCleanable(p))
  if (forbidden !== undefined)
    return { outcome: 'Failed', output: `${forbidden} is not below one of ${CLEANABLE.join(', ')}` }
  // The folders themselves may be on other disks than the node's root.
  const roots = paths.flatMap((p) => rootOf(dir, p))
  const lowest = (): number => Math.min(...roots.map(freePercent), freePercent(dir.root))
  if (lowest() >= wanted.untilFree) return { outcome: 'Skipped', output: `${lowest()} % are free` }
  const images = wanted.images && dir.root === '/' ? await removeImages() : ''
  let bytes = 0
  let files = 0
  let open: ReadonlySet<string> | undefined
  let checkedAt = 0
  const before = clock.now() - parseDuration(wanted.olderThan)
  for (const root of roots) {
    const found = await findFiles(root, LIMITS, (s) => s.mtimeMs < before)
    const old = found.toSorted((a, b) => a.modifiedMs - b.modifiedMs)
    for (let n = 0; n < old.length && files < MAX_REMOVED; n += AT_ONCE) {
      if (freePercent(root) >= wanted.untilFree) break
      signal.throwIfAborted()
      // Refreshed periodically: files opened since must stay.
      if (open === undefined || clock.monotonic() - checkedAt > OPEN_FRESH_MS) {
        checkedAt = clock.monotonic()
        open = await openFiles()
      }
      for (const file of old.slice(n, n + AT_ONCE)) {
        if (open.has(`${file.device}:${file.inode}`) || !removeFound(root, file)) continue
        bytes += file.bytes
        files++
      }
      await clock.sleep(0)
    }
  }
  const free = lowest()
  const output = `${files} files with ${bytes} bytes removed${images}, ${free} % are free`
  return { outcome: free >= wanted.untilFree ? 'Succeeded' : 'Failed', output }
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

const freePercent = (path: string): number => leastFree(statfsSync(path))

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
