// One server to a data folder: a lock that the kernel lets go when the process ends in whatever way, kill -9 included.
import { dirname } from 'node:path'
import { DatabaseSync } from 'node:sqlite'
import { KubeNodeError, messageOf } from '#lib/errors.ts'
import { apiserverErrors } from '../apiserver-errors.ts'

export interface FolderLock {
  release(): void
}

/** SQLite's own file lock, on an empty database that is never written. */
export function lockFolder(file: string): FolderLock {
  let db: DatabaseSync | undefined
  try {
    db = new DatabaseSync(file)
    db.exec('PRAGMA busy_timeout = 0; BEGIN EXCLUSIVE')
  } catch (e) {
    db?.close()
    const seen = messageOf(e)
    const refused = /locked|busy/.test(seen)
      ? apiserverErrors.KN6103({ folder: dirname(file) })
      : apiserverErrors.KN6116({ file, why: seen })
    throw new KubeNodeError(refused, { cause: e })
  }
  const held = db
  return { release: () => void (held.isOpen && held.close()) }
}
