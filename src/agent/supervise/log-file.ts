// Keeps the log of a component bounded: what is too large is copied aside and cut. The component goes on writing to the same open file.
import { copyFileSync, renameSync, rmSync, statSync, truncateSync } from 'node:fs'
import { messageOf } from '#lib/errors.ts'

export const MAX_LOG_BYTES = 4 * 2 ** 20
const KEPT = 2

/** Answers why it could not be done, if so: a full disk must not stop the supervisor. */
export function rotateLog(path: string, maxBytes = MAX_LOG_BYTES): string | undefined {
  try {
    if ((statSync(path, { throwIfNoEntry: false })?.size ?? 0) <= maxBytes) return undefined
    for (let n = KEPT - 1; n > 0; n--) {
      if (statSync(`${path}.${n}`, { throwIfNoEntry: false })) renameSync(`${path}.${n}`, `${path}.${n + 1}`)
    }
    copyFileSync(path, `${path}.1`)
    truncateSync(path, 0)
    return undefined
  } catch (e) {
    // No room for a copy: the room matters more than the old lines.
    rmSync(`${path}.1`, { force: true })
    return messageOf(e)
  }
}
