// Folds as much of the log into the file of objects as no reader still needs, without waiting.
import type { DatabaseSync } from 'node:sqlite'

export function foldLog(db: DatabaseSync): () => void {
  const statement = db.prepare('PRAGMA wal_checkpoint(PASSIVE)')
  return () => void statement.get()
}

/** Folds all of it, and frees the space of the log: waits for other folds and readers, at most as long as the connection waits for locks. */
export function foldWholeLog(db: DatabaseSync): () => void {
  const statement = db.prepare('PRAGMA wal_checkpoint(TRUNCATE)')
  return () => void statement.get()
}
