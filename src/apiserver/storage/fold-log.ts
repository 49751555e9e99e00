// Folds as much of the log into the file of objects as no reader still needs, and waits for nobody.
import type { DatabaseSync } from 'node:sqlite'

export function foldLog(db: DatabaseSync): () => void {
  const statement = db.prepare('PRAGMA wal_checkpoint(PASSIVE)')
  return () => void statement.get()
}
