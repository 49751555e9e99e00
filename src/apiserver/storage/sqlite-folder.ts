// The thread that folds the log into the file of objects while the other one keeps writing: SQLite permits both at once, and no write waits
// for the slow part, the scattered pages and their sync.
import { DatabaseSync } from 'node:sqlite'
import { parentPort, workerData } from 'node:worker_threads'
import { foldLog } from './fold-log.ts'
import { writeFailure, type WriteFailure } from './storage-error.ts'

/** Messages of the writing thread; it requests one fold at a time. */
export type FolderOrder = 'fold' | 'close'

/** The result, with the error if it failed. */
export interface FolderReport {
  readonly failure: WriteFailure | undefined
}

const port = parentPort
if (port !== null) {
  const file = String((workerData as { readonly file: unknown }).file)
  const db = new DatabaseSync(file, { timeout: 0 })
  db.exec('PRAGMA synchronous = FULL; PRAGMA wal_autocheckpoint = 0')
  const fold = foldLog(db)
  port.on('message', (order: FolderOrder) => {
    if (order === 'close') {
      db.close()
      port.close()
      return
    }
    let failure: WriteFailure | undefined
    try {
      fold()
    } catch (e) {
      failure = writeFailure(file, e)
    }
    const report: FolderReport = { failure }
    port.postMessage(report, [])
  })
}
