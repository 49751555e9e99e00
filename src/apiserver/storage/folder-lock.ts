// One server to a data folder: a lock that the kernel lets go when the process ends in whatever way, kill -9 included.
import { dirname } from 'node:path'
import { DatabaseSync } from 'node:sqlite'
import { KubeNodeError, messageOf } from '#lib/errors.ts'

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
    throw new KubeNodeError(
      'KN6103',
      /locked|busy/.test(seen)
        ? `cannot use the data folder ${dirname(file)}: another server is running on it; stop that one, or choose another folder with --data`
        : `cannot lock the data folder with ${file}: ${seen}; is the folder writable, and the file our own?`,
      { cause: e },
    )
  }
  const held = db
  return { release: () => void (held.isOpen && held.close()) }
}
