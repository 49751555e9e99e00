// One fleet per data folder: the first start takes a lock that the kernel releases when the process exits, however it exits. A file beside it shows people
// which process holds the lock, and since when.
import { readFileSync, rmSync, statSync } from 'node:fs'
import { dirname } from 'node:path'
import { KubeNodeError } from '#lib/errors.ts'
import { type FileLock, isFileLocked, takeFileLock } from '#lib/file-lock.ts'
import { makeFolders } from '#lib/private-folder.ts'
import { systemTrouble } from '#lib/system-trouble.ts'
import { writeWholeFile } from '#lib/whole-file.ts'
import { localErrors } from './local-errors.ts'

/** A process that only checks the lock holds it for less than this. */
const POLL_MS = 500

export interface LockFiles {
  /** The file that the kernel locks. */
  readonly lock: string
  /** The process that holds it. */
  readonly holder: string
}

export const isLocked = ({ lock }: LockFiles): boolean => isFileLocked(lock)

/** When the fleet last started. */
export const lockedAt = ({ holder }: LockFiles): number => statSync(holder, { throwIfNoEntry: false })?.mtimeMs ?? 0

/** Returns the function that releases the lock. */
export function takeLock({ lock, holder }: LockFiles): () => void {
  const folder = dirname(lock)
  let held: FileLock | undefined
  try {
    makeFolders(folder)
    held = takeFileLock(lock, POLL_MS)
    if (held !== undefined) writeWholeFile(holder, `${process.pid}\n`)
  } catch (cause) {
    held?.release()
    throw new KubeNodeError(localErrors.KN1205({ folder, why: systemTrouble(cause) }), { cause })
  }
  if (held === undefined) throw new KubeNodeError(localErrors.KN1201({ path: folder, pid: pidIn(holder) }))
  const taken = held
  return () => {
    rmSync(holder, { force: true })
    taken.release()
  }
}

/** The holder writes its pid right after taking the lock. */
function pidIn(holder: string): string {
  try {
    return readFileSync(holder, 'utf8').trim()
  } catch {
    return 'unknown'
  }
}
