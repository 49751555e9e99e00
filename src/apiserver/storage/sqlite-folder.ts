// The thread that folds the log into the file of objects while the other one writes on: SQLite lets both go on at once, and nobody waits
// for the slow part, the pages that lie everywhere and their sync.
import { DatabaseSync } from 'node:sqlite'
import { parentPort, workerData } from 'node:worker_threads'
import { foldLog } from './fold-log.ts'
import { writeFailure, type WriteFailure } from './storage-error.ts'

/** What the writing thread says; it asks for one fold at a time. */
export type FolderOrder = 'fold' | 'close'

/** That it is done, and what went wrong with it. */
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
