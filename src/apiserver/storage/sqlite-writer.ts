// The thread that writes: takes batches in order, answers each after its fsync, keeps its log short after the answer, and ends at the
// first failure after which the disk is not known.
import { DatabaseSync } from 'node:sqlite'
import { parentPort, workerData } from 'node:worker_threads'
import { checksumOf, PAGE_BYTES } from './data-format.ts'
import { LogKeeper } from './log-keeper.ts'
import { RevisionMark } from './revision-mark.ts'
import type { Batch, WriterData, WriterMessage } from './sqlite.ts'
import { writeFailure, type WriteFailure } from './storage-error.ts'

/** Longer than any look of `apiserver backup` at the file holds a lock. */
const LOCK_WAIT_MS = 2_000

const port = parentPort
if (port !== null) serve(workerData as WriterData)

function serve({ file, log: bounds }: WriterData): void {
  const db = new DatabaseSync(file, { timeout: LOCK_WAIT_MS })
  db.exec(`PRAGMA synchronous = FULL; PRAGMA wal_autocheckpoint = 0; PRAGMA journal_size_limit = ${bounds.longest};`)
  const write = writerOf(db)
  const mark = new RevisionMark(file)
  const say = (m: WriterMessage) => port?.postMessage(m, m.kind === 'Durable' ? [m.slab] : [])
  const ended = (failure: WriteFailure) => {
    log.stop()
    say({ kind: 'Failed', failure })
    port?.close()
  }
  const log = new LogKeeper({
    db,
    file,
    bounds,
    held: (ms) => say({ kind: 'Folded', ms }),
    failed: (e) => rolledBack(db, file, e),
    ended,
  })
  const close = async () => {
    await log.close()
    mark.close()
    db.close()
    port?.close()
  }
  port?.on('message', (message: 'close' | Batch) => {
    if (message === 'close') {
      void close()
      return
    }
    try {
      const revision = write(message)
      say({ kind: 'Durable', slab: message.slab })
      mark.write(revision)
    } catch (e) {
      const failure = rolledBack(db, file, e)
      if (failure.retry === 'never') ended(failure)
      else say({ kind: 'Failed', failure })
      return
    }
    log.wrote(loggedBytes(message))
  })
}

/** One transaction a batch; gives the last revision in it. */
function writerOf(db: DatabaseSync): (batch: Batch) => number {
  // to replace a row would write the index of its key too
  const put = db.prepare(`INSERT INTO object VALUES (?, ?, ?, ?, ?, ?) ON CONFLICT (resource, namespace, name)
    DO UPDATE SET revision = excluded.revision, bytes = excluded.bytes, checksum = excluded.checksum`)
  const drop = db.prepare('DELETE FROM object WHERE resource = ? AND namespace = ? AND name = ?')
  const tick = db.prepare('UPDATE clock SET revision = ?')
  return ({ changes, slab }) => {
    let last = 0
    db.exec('BEGIN IMMEDIATE')
    for (const [resource, namespace, name, revision, start, stop] of changes) {
      const bytes = stop < 0 ? undefined : new Uint8Array(slab, start, stop - start)
      if (bytes === undefined) drop.run(resource, namespace, name)
      else put.run(resource, namespace, name, revision, bytes, checksumOf([resource, namespace, name], revision, bytes))
      last = revision
    }
    tick.run(last)
    db.exec('COMMIT')
    return last
  }
}

/** About: an object is on one page as far as it fits, and the rest of it takes more. */
const loggedBytes = ({ changes }: Batch): number =>
  changes.reduce((sum, [, , , , start, stop]) => sum + pagesOf(stop < 0 ? 0 : stop - start), 0)

const pagesOf = (bytes: number): number => Math.ceil((bytes + 1) / PAGE_BYTES) * PAGE_BYTES

/** What a failed transaction means once it is undone. */
function rolledBack(db: DatabaseSync, file: string, e: unknown): WriteFailure {
  try {
    if (db.isTransaction) db.exec('ROLLBACK')
    return writeFailure(file, e)
  } catch (again) {
    return writeFailure(file, again)
  }
}
