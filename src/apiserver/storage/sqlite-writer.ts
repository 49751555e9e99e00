// The thread that writes: takes batches in order, answers each after its fsync, folds the log in small pieces after the answer, and
// ends at the first failure after which the disk is not known.
import { DatabaseSync } from 'node:sqlite'
import { parentPort, workerData } from 'node:worker_threads'
import { checksumOf } from './data-format.ts'
import { RevisionMark } from './revision-mark.ts'
import type { Batch, WriterMessage } from './sqlite.ts'
import { writeFailure } from './storage-error.ts'

/** Bytes of changes after which the log is folded into the file: 1 MiB takes some 5 ms; 16 MiB at once stalled writers for 60. */
const FOLD_BYTES = 1024 * 1024
/** A change costs at least the page that it is on. */
const PAGE_BYTES = 4_096
/** Without a write for so long, the rest is folded too: nobody waits. */
const IDLE_MS = 250
/** A log that a reader kept from being folded shrinks to this when it can. */
const LOG_BYTES = 16 * 1024 * 1024
/** Longer than any look of `apiserver backup` at the file holds a lock. */
const LOCK_WAIT_MS = 2_000

const port = parentPort
if (port !== null) serve(String((workerData as { readonly file: unknown }).file))

function serve(file: string): void {
  const db = new DatabaseSync(file, { timeout: LOCK_WAIT_MS })
  db.exec(`PRAGMA synchronous = FULL; PRAGMA wal_autocheckpoint = 0; PRAGMA journal_size_limit = ${LOG_BYTES};`)
  const put = db.prepare('INSERT OR REPLACE INTO object VALUES (?, ?, ?, ?, ?, ?)')
  const drop = db.prepare('DELETE FROM object WHERE resource = ? AND namespace = ? AND name = ?')
  const tick = db.prepare('UPDATE clock SET revision = ?')
  const foldLog = db.prepare('PRAGMA wal_checkpoint(PASSIVE)')
  const mark = new RevisionMark(file)
  let unfolded = 0
  let idle: NodeJS.Timeout | undefined
  const say = (m: WriterMessage) => port?.postMessage(m, m.kind === 'Durable' ? [m.slab] : [])

  const write = ({ changes, slab }: Batch): number => {
    let last = 0
    db.exec('BEGIN IMMEDIATE')
    for (const [resource, namespace, name, revision, start, stop] of changes) {
      const bytes = stop < 0 ? undefined : new Uint8Array(slab, start, stop - start)
      if (bytes === undefined) drop.run(resource, namespace, name)
      else put.run(resource, namespace, name, revision, bytes, checksumOf([resource, namespace, name], revision, bytes))
      unfolded += PAGE_BYTES + (bytes?.length ?? 0)
      last = revision
    }
    tick.run(last)
    db.exec('COMMIT')
    return last
  }
  const end = () => {
    clearTimeout(idle)
    port?.close()
  }
  /** False: nothing more may be written. */
  const tried = (act: () => void, isWaitedFor: boolean): boolean => {
    try {
      act()
      return true
    } catch (e) {
      const failure = rolledBack(db, file, e)
      // folding waits for space and for readers by itself
      if (isWaitedFor || failure.retry === 'never') say({ kind: 'Failed', failure })
      if (failure.retry === 'never') end()
      return false
    }
  }
  const fold = () => {
    clearTimeout(idle)
    idle = undefined
    unfolded = 0
    const began = performance.now()
    if (tried(() => foldLog.get(), false)) say({ kind: 'Folded', ms: performance.now() - began })
  }
  port?.on('message', (message: 'close' | Batch) => {
    if (message === 'close') {
      clearTimeout(idle)
      mark.close()
      db.close()
      port.close()
      return
    }
    const isDurable = tried(() => {
      const revision = write(message)
      say({ kind: 'Durable', slab: message.slab })
      mark.write(revision)
    }, true)
    if (!isDurable) return
    if (unfolded >= FOLD_BYTES) fold()
    else idle ??= setTimeout(fold, IDLE_MS)
  })
}

/** What a failed transaction means once it is undone. */
function rolledBack(db: DatabaseSync, file: string, e: unknown) {
  try {
    if (db.isTransaction) db.exec('ROLLBACK')
    return writeFailure(file, e)
  } catch (again) {
    return writeFailure(file, again)
  }
}
