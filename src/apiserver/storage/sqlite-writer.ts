// The thread that writes: takes batches in order, answers each after its fsync, keeps its log short after the answer, and ends at the
// first failure that leaves the state of the disk unknown.
import { DatabaseSync } from 'node:sqlite'
import { parentPort, workerData } from 'node:worker_threads'
import { checksumOf, PAGE_BYTES } from './data-format.ts'
import { LogKeeper } from './log-keeper.ts'
import { LEAST_BYTES, Reserve } from './reserve.ts'
import { RevisionMark } from './revision-mark.ts'
import type { Batch, WriterData, WriterMessage } from './sqlite.ts'
import { DISK_FULL, fullFailure, writeFailure, type WriteFailure } from './storage-error.ts'

/** Longer than `apiserver backup` ever holds a lock on the file. */
const LOCK_WAIT_MS = 2_000

/** Loading these must not delay the server's first answers. */
const RESERVE_AFTER_MS = 1_000

const port = parentPort
if (port !== null) serve(workerData as WriterData)

function serve({ file, log: bounds }: WriterData): void {
  const db = new DatabaseSync(file, { timeout: LOCK_WAIT_MS })
  db.exec(`PRAGMA synchronous = FULL; PRAGMA wal_autocheckpoint = 0; PRAGMA journal_size_limit = ${bounds.longest};`)
  const write = writerOf(db)
  const mark = new RevisionMark(file)
  const reserve = new Reserve(file)
  const seeking = setTimeout(() => reserve.take(), RESERVE_AFTER_MS)
  const say = (m: WriterMessage) => port?.postMessage(m, m.kind === 'Durable' ? [m.slab] : [])
  const ended = (failure: WriteFailure) => {
    clearTimeout(seeking)
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
    clearTimeout(seeking)
    await log.close()
    reserve.close()
    mark.close()
    db.close()
    port?.close()
  }
  port?.on('message', (message: 'close' | Batch) => {
    if (message === 'close') {
      void close()
      return
    }
    const written = writtenWithReserve(message)
    if (typeof written === 'number') {
      say({ kind: 'Durable', slab: message.slab })
      mark.write(written)
      log.wrote(loggedBytes(message))
      if (reserve.isTight) foldTight()
    } else if (written.retry === 'never') ended(written)
    else say({ kind: 'Failed', failure: written })
  })

  /** The file may have to grow for the log's content: a log that cannot be folded cannot restart, and nothing more fits into it. */
  function foldTight(): void {
    if (!log.foldNow() && reserve.release()) log.foldNow()
    reserve.take()
  }

  /** The revision, or why it was not written. */
  function writtenWithReserve(batch: Batch): number | WriteFailure {
    if (batch.takesRoom && (reserve.isMissing || reserve.isTight)) reserve.take()
    // what deletions left in the file is as good
    if (batch.takesRoom && reserve.isMissing && freeBytes(db) < LEAST_BYTES) return fullFailure(file)
    const first = tried(batch)
    if (typeof first === 'number' || first.code !== DISK_FULL) return first
    // data that fits into the space of deletions needs more of the disk only while it is in the log
    if (batch.takesRoom && freeBytes(db) < LEAST_BYTES) return first
    if (!reserve.release()) return first
    log.foldNow()
    return tried(batch)
  }

  function tried(batch: Batch): number | WriteFailure {
    try {
      return write(batch)
    } catch (e) {
      return rolledBack(db, file, e)
    }
  }
}

const freeBytes = (db: DatabaseSync): number =>
  Number(db.prepare('PRAGMA freelist_count').get()?.['freelist_count'] ?? 0) * PAGE_BYTES

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
