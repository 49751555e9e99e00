// Frees space on a host without an agent, by the same rules as an agent: old regular files below listed folders, oldest first, until enough is free. GNU find
// removes through open folders, so no link is followed, even if folders are swapped meanwhile.
import { parseDuration } from '#lib/duration.ts'
import { type Channel, quoted } from '#ssh/channel.ts'
import {
  CLEANABLE,
  type Cleaning,
  type Freed,
  MAX_REMOVED,
  cleaningsOf,
  isCleanable,
  leastFree,
  removable,
  totalOf,
} from '../../repair/clean-disk.ts'
import type { JobOperation } from '../../repair/plan.ts'
import type { StepResult } from '../../repair/steps.ts'
import { type Room, roomIn, STAT_ROOM } from '../room.ts'

type Wanted = NonNullable<JobOperation['cleanDisk']>

const WITHIN_MS = 120_000
const ABSENT = 44
/** The oldest of a folder; the rest counts as newer, so that less is removed. */
const MOST_FILES = 20_000
const MOST_OPEN = 50_000
const MAX_BYTES = 2 * 2 ** 20
/** Each of them walks the folder once more. */
const AT_ONCE = 1_000
const DEPTH = 16
const BLOCK = 512

interface Found {
  readonly inode: string
  readonly modifiedMs: number
  readonly bytes: number
}

interface Folder extends Cleaning {
  readonly real: string
  readonly device: string
  readonly nowMs: number
  readonly files: readonly Found[]
}

export async function cleanDiskOverSsh(
  channel: Pick<Channel, 'ask'>,
  wanted: Wanted,
  signal: AbortSignal,
): Promise<StepResult> {
  const cleanings = cleaningsOf(wanted)
  const forbidden = cleanings.find((c) => !isCleanable(c.path))
  if (forbidden !== undefined) return failed(`${forbidden.path} is not below one of ${CLEANABLE.join(', ')}`)
  const folders = (await eachOf(cleanings, (c) => folderOf(channel, c))).flatMap((f) => f ?? [])
  const lowest = async (): Promise<number> =>
    Math.min(...(await eachOf([...folders.map((f) => f.real), '/'], async (p) => leastFree(await roomAt(channel, p)))))
  const before = await lowest()
  const isOverShare = folders.some((f) => f.maxShare !== undefined)
  if (before >= wanted.untilFree && !isOverShare) return { outcome: 'Skipped', output: `${before} % are free` }
  const others = wanted.dryRun ? '' : `${await removeImages(channel, wanted)}${await removeJournals(channel, wanted)}`
  const removed: Freed[] = []
  let left = MAX_REMOVED
  for (const folder of folders) {
    signal.throwIfAborted()
    const freed = await cleaned(channel, folder, { wanted, most: left, signal })
    left -= freed.files
    removed.push(freed)
  }
  if (wanted.dryRun) return succeeded(`dry run, nothing removed: it would remove up to ${totalOf(removed)}`)
  const free = await lowest()
  const output = `removed ${totalOf(removed)}${others}, ${free} % are free`
  return free >= wanted.untilFree ? succeeded(output) : failed(output)
}

async function eachOf<T, R>(items: readonly T[], work: (item: T) => Promise<R>): Promise<readonly R[]> {
  const results: R[] = []
  for (const item of items) results.push(await work(item))
  return results
}

const failed = (output: string): StepResult => ({ outcome: 'Failed', output })
const succeeded = (output: string): StepResult => ({ outcome: 'Succeeded', output })

/** Undefined: it is not there, or leads out of the folders that may be cleaned. */
async function folderOf(channel: Pick<Channel, 'ask'>, cleaning: Cleaning): Promise<Folder | undefined> {
  const { code, stdout, stderr } = await channel.ask({
    snippet: `r=$(realpath -e -- ${quoted(cleaning.path)}) || exit ${ABSENT}
[ -d "$r" ] || exit ${ABSENT}
printf '%s\\n' "$r"
stat -c %d -- "$r"
date +%s
timeout ${WITHIN_MS / 1_000} find -H "$r" -xdev -maxdepth ${DEPTH} -type f -printf '%T@ %i %b\\n' | sort -n | head -n ${MOST_FILES}`,
    deadlineMs: 2 * WITHIN_MS,
    maxBytes: MAX_BYTES,
  })
  if (code === ABSENT) return undefined
  const [real = '', device = '', now = '', ...lines] = stdout.toString('utf8').split('\n')
  if (code !== 0 || !/^\d{1,20}$/.test(device) || !/^\d{9,11}$/.test(now))
    throw new Error(`cannot read the files of ${cleaning.path}: ${stderr || `code ${code}`}`)
  return isCleanable(real)
    ? { ...cleaning, real, device, nowMs: Number(now) * 1_000, files: lines.flatMap(fileIn) }
    : undefined
}

const FILE = /^(\d{1,11}(?:\.\d{1,10})?) (\d{1,20}) (\d{1,12})$/

function fileIn(line: string): readonly Found[] {
  const [, seconds, inode, blocks] = FILE.exec(line) ?? []
  return inode === undefined ? [] : [{ inode, modifiedMs: Number(seconds) * 1_000, bytes: Number(blocks) * BLOCK }]
}

async function cleaned(
  channel: Pick<Channel, 'ask'>,
  folder: Folder,
  { wanted, most, signal }: { readonly wanted: Wanted; readonly most: number; readonly signal: AbortSignal },
): Promise<Freed> {
  const { path, real, nowMs, files, maxShare } = folder
  const { blocks, bsize } = await roomAt(channel, real)
  const candidates = removable(files, folder, { now: nowMs, diskBytes: blocks * bsize }).slice(0, most)
  if (wanted.dryRun) return sumOf(path, candidates)
  const gone: Found[] = []
  for (let n = 0; n < candidates.length; n += AT_ONCE) {
    signal.throwIfAborted()
    // A directory over its own limit is cut down to it, however much is free.
    if (maxShare === undefined && leastFree(await roomAt(channel, real)) >= wanted.untilFree) break
    const open = await openOn(channel, folder.device)
    const some = candidates.slice(n, n + AT_ONCE).filter((f) => !open.has(f.inode))
    const inodes = new Set(await removedOf(channel, folder, some))
    gone.push(...some.filter((f) => inodes.has(f.inode)))
  }
  return sumOf(path, gone)
}

const sumOf = (path: string, files: readonly Found[]): Freed => ({
  path,
  files: files.length,
  bytes: files.reduce((sum, f) => sum + f.bytes, 0),
})

/** A file that was written to since, or that is another one with the same number, is too new. */
async function removedOf(
  channel: Pick<Channel, 'ask'>,
  { real, nowMs, olderThanMs }: Folder,
  files: readonly Found[],
): Promise<readonly string[]> {
  if (files.length === 0) return []
  const cutoff = Math.floor((nowMs - olderThanMs) / 1_000)
  const these = files.map((f) => `-inum ${f.inode}`).join(' -o ')
  const { stdout } = await channel.ask({
    snippet: `timeout ${WITHIN_MS / 1_000} find -H ${quoted(real)} -xdev -maxdepth ${DEPTH} -type f ! -newermt @${cutoff} \\( ${these} \\) -delete -printf '%i\\n'`,
    deadlineMs: 2 * WITHIN_MS,
  })
  return stdout.toString('latin1').split('\n')
}

/** Files that any process has open, by inode, because paths differ between containers. */
async function openOn(channel: Pick<Channel, 'ask'>, device: string): Promise<ReadonlySet<string>> {
  const { stdout } = await channel.ask({
    snippet: `timeout ${WITHIN_MS / 1_000} find -L /proc/[0-9]*/fd -maxdepth 1 -type f -printf '%D %i\\n' 2>/dev/null | sed -n 's/^${device} //p' | sort -un | head -n ${MOST_OPEN + 1}; echo all`,
    deadlineMs: 2 * WITHIN_MS,
    maxBytes: MAX_BYTES,
  })
  const lines = stdout.toString('latin1').trimEnd().split('\n')
  if (lines.pop() !== 'all' || lines.length > MOST_OPEN) throw new Error('cannot tell which files are open')
  return new Set(lines)
}

async function roomAt(channel: Pick<Channel, 'ask'>, path: string): Promise<Room> {
  const { stdout } = await channel.ask({
    snippet: `${STAT_ROOM} ${quoted(path)}`,
    deadlineMs: WITHIN_MS,
    maxBytes: 256,
  })
  const text = stdout.toString('latin1')
  const room = text.endsWith('\n') ? roomIn(text.slice(0, -1)) : undefined
  if (room === undefined) throw new Error(`cannot tell how much is free at ${path}`)
  return room
}

/** The container runtime knows best which images are unused. */
async function removeImages(channel: Pick<Channel, 'ask'>, { images }: Wanted): Promise<string> {
  if (!images) return ''
  const { code } = await channel.ask({
    snippet: 'timeout 120 crictl rmi --prune >/dev/null',
    deadlineMs: 2 * WITHIN_MS,
  })
  return code === 0 ? ', unused images removed' : ''
}

/** Archived ones only: the active journal stays. */
async function removeJournals(channel: Pick<Channel, 'ask'>, { journal, olderThan }: Wanted): Promise<string> {
  if (!journal) return ''
  const seconds = Math.round(parseDuration(olderThan) / 1_000)
  const snippet = `timeout 120 journalctl --vacuum-time=${seconds}s`
  const { code } = await channel.ask({ snippet, deadlineMs: 2 * WITHIN_MS })
  return code === 0 ? ', old journals removed' : ''
}
