// A lock on a file that the kernel grants to one process and releases when the process ends, however it ends. Only the owner of the folder can take it: unlike
// an abstract socket or a port, another user cannot occupy it.
import { chmodSync, closeSync, constants, lstatSync, openSync, rmSync } from 'node:fs'
import type { DatabaseSync } from 'node:sqlite'

export interface FileLock {
  release(): void
}

/** A database that nothing refers to is closed by the garbage collector, and its lock ends. */
const held = new Set<DatabaseSync>()

const OWN = 0o600
const CREATE = constants.O_RDWR | constants.O_CREAT | constants.O_EXCL | constants.O_NOFOLLOW

/**
 * SQLite's own file lock, on an empty database that is never written. Undefined: another holder has it, after `patienceMs` still.
 */
export function takeFileLock(file: string, patienceMs = 0): FileLock | undefined {
  ownFile(file)
  // loaded when it is needed: the agent's library has few users of it
  const sqlite = process.getBuiltinModule('node:sqlite')
  let db: DatabaseSync | undefined
  try {
    db = new sqlite.DatabaseSync(file)
    // Without a journal file: on a full disk there would be no room for it.
    db.exec(`PRAGMA busy_timeout = ${patienceMs}; PRAGMA journal_mode = MEMORY; BEGIN EXCLUSIVE`)
  } catch (e) {
    db?.close()
    if (isHeldByAnother(e)) return undefined
    throw e
  }
  const taken = db
  held.add(taken)
  return {
    release: () => {
      if (held.delete(taken)) taken.close()
    },
  }
}

const isHeldByAnother = (e: unknown): boolean => e instanceof Error && /locked|busy/.test(e.message)

/** Keeps other processes out only while the check itself runs. */
export function isFileLocked(file: string): boolean {
  if (lstatSync(file, { throwIfNoEntry: false })?.isFile() !== true) return false
  const sqlite = process.getBuiltinModule('node:sqlite')
  let db: DatabaseSync | undefined
  try {
    db = new sqlite.DatabaseSync(file, { readOnly: true })
    db.exec('PRAGMA busy_timeout = 0; SELECT * FROM sqlite_master')
    return false
  } catch (e) {
    return isHeldByAnother(e)
  } finally {
    db?.close()
  }
}

/**
 * A file of another user could be locked by that user; it is replaced. A file that is ours is never opened here: closing any
 * descriptor of it would end a lock that this process holds.
 */
function ownFile(file: string): void {
  const found = lstatSync(file, { throwIfNoEntry: false })
  const isOurs = found?.isFile() === true && found.uid === process.geteuid?.() && found.nlink === 1
  if (isOurs) {
    if ((found.mode & 0o777) !== OWN) chmodSync(file, OWN)
    return
  }
  if (found !== undefined) rmSync(file, { recursive: true })
  try {
    closeSync(openSync(file, CREATE, OWN))
  } catch (e) {
    // another process that starts at the same moment created it
    if (!(e instanceof Error && 'code' in e && e.code === 'EEXIST')) throw e
  }
}
