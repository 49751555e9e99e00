// Frees space: old regular files below listed folders, oldest first, until enough is free. Never a file that somebody has open, never through a link,
// never more than a bounded number.
import { lstatSync, opendirSync, readdirSync, readlinkSync, realpathSync, rmSync, statfsSync } from 'node:fs'
import { join } from 'node:path'
import { parseDuration } from '#lib/duration.ts'
import { onNode, type NodeDir } from '../node-dir.ts'
import type { JobOperation } from './plan.ts'
import type { StepResult } from './steps.ts'

/** Cleaned when the job names none, and the only roots below which it may name any. */
export const CLEANABLE = ['/tmp', '/var/tmp', '/var/cache', '/var/log'] as const
const DEFAULT_PATHS: readonly string[] = ['/tmp', '/var/tmp', '/var/cache']

const MAX_SEEN = 100_000
const MAX_REMOVED = 10_000
const MAX_DEPTH = 16

interface OldFile {
  readonly path: string
  readonly modifiedMs: number
  readonly bytes: number
}

export const isCleanable = (path: string): boolean =>
  !path.split('/').includes('..') && CLEANABLE.some((root) => path === root || path.startsWith(`${root}/`))

export function cleanDisk(dir: NodeDir, wanted: NonNullable<JobOperation['cleanDisk']>, now: number): StepResult {
  const paths = wanted.paths ?? DEFAULT_PATHS
  const forbidden = paths.find((p) => !isCleanable(p))
  if (forbidden !== undefined)
    return { outcome: 'Failed', output: `${forbidden} is not below one of ${CLEANABLE.join(', ')}` }
  if (freePercent(dir.root) >= wanted.untilFree)
    return { outcome: 'Skipped', output: `${freePercent(dir.root)} % are free` }
  const before = now - parseDuration(wanted.olderThan)
  const old = paths
    .flatMap((p) => oldFiles(onNode(dir, p), before))
    .sort((a, b) => a.modifiedMs - b.modifiedMs)
    .slice(0, MAX_REMOVED)
  const open = openFiles()
  let bytes = 0
  let files = 0
  for (const file of old) {
    if (open.has(file.path)) continue
    rmSync(file.path, { force: true })
    bytes += file.bytes
    files++
    if (files % 100 === 0 && freePercent(dir.root) >= wanted.untilFree) break
  }
  const free = freePercent(dir.root)
  const output = `${files} files with ${bytes} bytes removed, ${free} % are free`
  return { outcome: free >= wanted.untilFree ? 'Succeeded' : 'Failed', output }
}

function freePercent(path: string): number {
  const { bavail, blocks } = statfsSync(path)
  return blocks === 0 ? 100 : Math.floor((bavail / blocks) * 100)
}

function oldFiles(root: string, before: number): OldFile[] {
  const found: OldFile[] = []
  let seen = 0
  const visit = (folder: string, depth: number): void => {
    let handle
    try {
      // A link in the place of the folder would lead out of it.
      if (!lstatSync(folder).isDirectory()) return
      handle = opendirSync(folder)
    } catch {
      return
    }
    try {
      for (let entry = handle.readSync(); entry !== null && seen < MAX_SEEN; entry = handle.readSync()) {
        seen++
        const path = join(folder, entry.name)
        if (entry.isDirectory() && depth < MAX_DEPTH) visit(path, depth + 1)
        const stat = entry.isFile() ? lstatSync(path, { throwIfNoEntry: false }) : undefined
        if (stat?.isFile() === true && stat.mtimeMs < before)
          found.push({ path: realPath(path), modifiedMs: stat.mtimeMs, bytes: stat.size })
      }
    } finally {
      handle.closeSync()
    }
  }
  visit(root, 0)
  return found
}

const realPath = (path: string): string => {
  try {
    return realpathSync(path)
  } catch {
    return path
  }
}

/** What any process that we may look at has open. */
function openFiles(): ReadonlySet<string> {
  const open = new Set<string>()
  for (const pid of readdirSync('/proc')) {
    if (!/^\d+$/.test(pid)) continue
    try {
      for (const fd of readdirSync(`/proc/${pid}/fd`)) open.add(readlinkSync(`/proc/${pid}/fd/${fd}`))
    } catch {
      // Somebody else's process, or gone.
    }
  }
  return open
}
