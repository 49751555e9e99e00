// Folds as much of the log into the file of objects as no reader still needs, and waits for nobody.
import type { DatabaseSync } from 'node:sqlite'

export function foldLog(db: DatabaseSync): () => void {
  const statement = db.prepare('PRAGMA wal_checkpoint(PASSIVE)')
  return () => void statement.get()
}

/** All of it, and gives the space of the log back: waits for whoever folds or reads, at most as long as the connection waits for locks. */
export function foldWholeLog(db: DatabaseSync): () => void {
  const statement = db.prepare('PRAGMA wal_checkpoint(TRUNCATE)')
  return () => void statement.get()
}
