// Limits a component's log: copies the end of a log that is too large aside, and truncates it. The component keeps writing to the same open file.
import { closeSync, openSync, readSync, renameSync, rmSync, statSync, truncateSync, writeSync } from 'node:fs'
import { join } from 'node:path'
import { messageOf } from '#lib/errors.ts'
import type { NodeDir } from '../node-dir.ts'

export const MAX_LOG_BYTES = 4 * 2 ** 20
const KEPT = 2
const CHUNK = 2 ** 16
/** A component that wrote this many times the limit since the last check writes faster than the checks run. */
const FLOOD = 4

/** Enough for a few long lines. */
const END_BYTES = 8_192

export const logFile = (dir: Pick<NodeDir, 'logs'>, component: string): string => join(dir.logs, `${component}.log`)

export const logSize = (path: string): number => statSync(path, { throwIfNoEntry: false })?.size ?? 0

/** The output after `from`, at most its end. A log that was truncated since is read from its beginning. */
export function readLogEnd(path: string, from: number): string {
  const size = logSize(path)
  const start = Math.max(from > size ? 0 : from, size - END_BYTES)
  if (start >= size) return ''
  const input = openSync(path, 'r')
  try {
    const buffer = Buffer.alloc(size - start)
    return buffer.subarray(0, readSync(input, buffer, 0, buffer.length, start)).toString('utf8')
  } finally {
    closeSync(input)
  }
}

export interface Rotation {
  /** Why no copy was kept, if so. */
  readonly problem: string | undefined
  /** The log must be checked sooner than others. */
  readonly isFlood: boolean
}

export function rotateLog(path: string, maxBytes = MAX_LOG_BYTES): Rotation {
  const size = logSize(path)
  if (size <= maxBytes) return { problem: undefined, isFlood: false }
  const isFlood = size > maxBytes * FLOOD
  try {
    for (let n = KEPT - 1; n > 0; n--) {
      if (statSync(`${path}.${n}`, { throwIfNoEntry: false })) renameSync(`${path}.${n}`, `${path}.${n + 1}`)
    }
    copyEnd(path, `${path}.1`, Math.max(0, size - maxBytes), size)
    truncateSync(path, 0)
    return { problem: undefined, isFlood }
  } catch (e) {
    return { problem: cut(path) ?? messageOf(e), isFlood }
  }
}

/** A flood is not copied whole: that would block the agent's event loop and use twice the disk space. */
function copyEnd(from: string, to: string, start: number, end: number): void {
  const [input, output] = [openSync(from, 'r'), openSync(to, 'w', 0o640)]
  try {
    const buffer = Buffer.alloc(CHUNK)
    for (let at = start; at < end;) {
      const got = readSync(input, buffer, 0, Math.min(CHUNK, end - at), at)
      if (got === 0) return
      writeSync(output, buffer, 0, got)
      at += got
    }
  } finally {
    closeSync(input)
    closeSync(output)
  }
}

/** No room for a copy: free space matters more than the lines. */
function cut(path: string): string | undefined {
  try {
    truncateSync(path, 0)
    rmSync(`${path}.1`, { force: true, recursive: true })
    return undefined
  } catch (e) {
    return messageOf(e)
  }
}
