// A file lock that the kernel grants to one process and releases when that process exits, however it exits. Only the folder's owner can take it: unlike an
// abstract socket or a port, another user cannot occupy it.
import { chmodSync, closeSync, constants, lstatSync, openSync, rmSync } from 'node:fs'
import type { DatabaseSync } from 'node:sqlite'
import { isSqliteBusy, sqliteCode } from './sqlite-code.ts'

export interface FileLock {
  release(): void
}

/** The garbage collector closes an unreferenced database, which would release its lock. */
const held = new Set<DatabaseSync>()

const OWN = 0o600
const CREATE = constants.O_RDWR | constants.O_CREAT | constants.O_EXCL | constants.O_NOFOLLOW

/** SQLite's own file lock, on an empty database that is never written. Undefined if another holder still has it after `patienceMs`. */
export function takeFileLock(file: string, patienceMs = 0): FileLock | undefined {
  ownFile(file)
  // Loaded on demand: few users of the agent's library need it.
  const sqlite = process.getBuiltinModule('node:sqlite')
  let db: DatabaseSync | undefined
  try {
    db = new sqlite.DatabaseSync(file)
    // Without a journal file, for which a full disk has no room.
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

/** By its code: the message quotes the file, which a cloned repository may contain. */
const isHeldByAnother = (e: unknown): boolean => isSqliteBusy(sqliteCode(e))

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
 * Replaces a file owned by another user, who could lock it. Never opens this user's own file: closing any descriptor of it would release a lock that this
 * process holds.
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
    // Another process that starts at the same moment created it.
    if (!(e instanceof Error && 'code' in e && e.code === 'EEXIST')) throw e
  }
}
