// The disk space of all repository copies together: how much one copy may still use, and whether the limit is near.
import { existsSync, lstatSync, readdirSync } from 'node:fs'
import { join } from 'node:path'
import { KIB, MIB } from '#lib/bytes.ts'
import { entriesBelow, isRealFolder } from '#lib/entries-below.ts'

/** This many of the largest copies fit. An installation leaves room for one more, to join packs. */
const LARGEST_COPIES = 3
export const boundOfAll = (maxBytesEach: number): number => LARGEST_COPIES * maxBytesEach

/** Reported from this share on, while fetches still succeed. */
const NEARLY_FULL = 0.8

export interface CopiesUsage {
  readonly bytes: number
  readonly maxBytes: number
  readonly copies: number
}

export function usageOf(cacheDir: string, maxBytes: number): CopiesUsage {
  const folders = existsSync(cacheDir) ? readdirSync(cacheDir).map((name) => join(cacheDir, name)) : []
  const copies = folders.filter(isRealFolder)
  return { bytes: copies.reduce((sum, dir) => sum + bytesBelow(dir), 0), maxBytes, copies: copies.length }
}

/** A shell has no smaller unit for file limits. */

/** The total size that the copy in this folder may reach. */
export const roomFor = (dir: string, { bytes, maxBytes }: CopiesUsage): number =>
  Math.floor((maxBytes - bytes + (isRealFolder(dir) ? bytesBelow(dir) : 0)) / KIB) * KIB

/** Warning for a source's status, before a fetch is refused. */
export function nearlyFull({ bytes, maxBytes, copies }: CopiesUsage): string | undefined {
  if (bytes < NEARLY_FULL * maxBytes) return undefined
  const [used, limit] = [bytes, maxBytes].map((n) => Math.round(n / MIB))
  return `the ${copies} copies of repositories have ${used} of ${limit} MiB, beyond which nothing new is fetched: raise --max-repository of sync and the disk below --cache, or delete sources`
}

/** Files may appear and disappear during the count. */
function bytesBelow(dir: string): number {
  let bytes = 0
  try {
    for (const { path, kind } of entriesBelow(dir))
      if (kind === 'File') bytes += lstatSync(join(dir, path), { throwIfNoEntry: false })?.size ?? 0
  } catch {
    // A folder was removed during the count: the sum so far is close enough.
  }
  return bytes
}
