// A backend on SQLite: one row per object, WAL with full sync, one transaction and one fsync per batch, in a thread of its own so
// that a slow disk never blocks the event loop.
import { chmodSync, closeSync, mkdirSync, openSync } from 'node:fs'
import { dirname } from 'node:path'
import type { DatabaseSync } from 'node:sqlite'
import { Worker } from 'node:worker_threads'
import { openDataFile, revisionOf, rowsOf } from './data-file.ts'
import { LOG_BOUNDS, type LogBounds } from './log-keeper.ts'
import type { Change, Kept, StorageBackend } from './port.ts'
import { failureError, writeFailure, type WriteFailure } from './storage-error.ts'
import { threadFile } from './thread-file.ts'
import { KubeNodeError, messageOf } from '#lib/errors.ts'
import { type FileLock, takeFileLock } from '#lib/file-lock.ts'
import { apiserverErrors } from '../apiserver-errors.ts'

interface Waiting {
  readonly resolve: () => void
  readonly reject: (e: Error) => void
}

/** Messages of the writing thread: a batch is durable, and its slab may be reused; or it is not; how long folding its log took. */
export type WriterMessage =
  | { readonly kind: 'Durable'; readonly slab: ArrayBuffer }
  | { readonly kind: 'Failed'; readonly failure: WriteFailure }
  | { readonly kind: 'Folded'; readonly ms: number }

/** Start parameters of the writing thread. */
export interface WriterData {
  readonly file: string
  readonly log: LogBounds
}

export interface SqliteStorage extends StorageBackend {
  /** The longest time that folding the log into the file has held the thread that writes. */
  readonly longestFoldMs: number
}

/** Opens or makes the file and checks it; the thread that writes starts with the first commit. */
export function sqliteStorage(file: string, log: LogBounds = LOG_BOUNDS): SqliteStorage {
  mkdirSync(dirname(file), { recursive: true, mode: 0o700 })
  const lock = lockFolder(`${file}.lock`)
  const { db, revision } = openedOr(file, () => lock.release())
  let worker: Worker | undefined
  let exited: Promise<unknown> = Promise.resolve()
  let waiting: Waiting | undefined
  let failed: Error | undefined
  let longestFoldMs = 0

  const { promise: broken, resolve: isBroken } = Promise.withResolvers<Error>()

  const settle = (failure: WriteFailure | undefined) => {
    const error = failure === undefined ? undefined : failureError(failure)
    if (error !== undefined && failure?.retry === 'never') {
      failed ??= error
      isBroken(error)
    }
    const w = waiting
    waiting = undefined
    if (error === undefined) w?.resolve()
    else w?.reject(error)
  }
  let spare: ArrayBuffer | undefined
  const hear = (m: WriterMessage) => {
    if (m.kind === 'Folded') longestFoldMs = Math.max(longestFoldMs, m.ms)
    else if (m.kind === 'Failed') settle(m.failure)
    else {
      if (m.slab.byteLength <= SPARE_BYTES) spare = m.slab
      settle(undefined)
    }
  }
  const started = (): Worker => {
    if (worker !== undefined) return worker
    const workerData: WriterData = { file, log }
    worker = new Worker(threadFile('sqlite-writer'), { workerData })
    exited = new Promise((resolve) =>
      worker?.once('exit', () => {
        if (waiting !== undefined) settle(writeFailure(file, new Error('the writing thread ended')))
        resolve(undefined)
      }),
    )
    worker.on('message', hear)
    worker.on('error', (e) => settle(writeFailure(file, e)))
    worker.unref()
    return worker
  }
  const letGo = () => {
    if (db.isOpen) db.close()
    lock.release()
  }
  /** After a failure to read it, release the lock: the folder is free again. */
  function* loaded(): Iterable<Kept> {
    try {
      yield* rowsOf(db, file)
    } catch (e) {
      letGo()
      throw e
    }
  }
  // a new store is written to at once: the thread starts while keys are made
  if (revision === 0) started()
  return {
    load: () => ({ revision, objects: loaded() }),
    commit(changes) {
      if (failed !== undefined) return Promise.reject(failed)
      return new Promise<void>((resolve, reject) => {
        waiting = { resolve, reject }
        const w = started()
        w.ref()
        const batch = packed(changes, spare)
        spare = undefined
        w.postMessage(batch, [batch.slab])
      }).finally(() => worker?.unref())
    },
    async close() {
      const w = worker
      if (w !== undefined) {
        // an idle thread does not keep the process alive; its end must be seen
        w.ref()
        w.postMessage('close', [])
        await exited
      }
      letGo()
    },
    failed: broken,
    get longestFoldMs() {
      return longestFoldMs
    },
  }
}

/** SQLite makes its log and the memory that it shares with the mode of the file, and the file itself readable for all. */
function keepToOwner(file: string): void {
  closeSync(openSync(file, 'a', 0o600))
  chmodSync(file, 0o600)
}

/** A group of changes on its way to the thread that writes. All bytes are in one piece of memory that is transferred: copies would be garbage in two threads. */
export interface Batch {
  readonly changes: readonly PackedChange[]
  readonly slab: ArrayBuffer
  /** False: all of it may be stored on a full disk. */
  readonly takesRoom: boolean
}

/** `end` is -1 for a deletion. */
export type PackedChange = readonly [
  resource: string,
  namespace: string,
  name: string,
  revision: number,
  start: number,
  end: number,
]

/** Larger ones are rare and not kept. */
const SPARE_BYTES = 4 * 1024 * 1024
const SMALLEST_SLAB = 64 * 1024

function packed(changes: readonly Change[], spare: ArrayBuffer | undefined): Batch {
  const total = changes.reduce((n, c) => n + (c.bytes?.length ?? 0), 0)
  const slab =
    spare !== undefined && spare.byteLength >= total ? spare : new ArrayBuffer(Math.max(SMALLEST_SLAB, total * 2))
  const into = new Uint8Array(slab)
  let at = 0
  const packedChanges = changes.map((c): PackedChange => {
    const start = at
    if (c.bytes === undefined) return [c.resource, c.namespace, c.name, c.revision, start, -1]
    into.set(c.bytes, start)
    at += c.bytes.length
    return [c.resource, c.namespace, c.name, c.revision, start, at]
  })
  return { changes: packedChanges, slab, takesRoom: changes.some((c) => c.takesNoRoom !== true) }
}

function openedOr(file: string, release: () => void): { readonly db: DatabaseSync; readonly revision: number } {
  let db: DatabaseSync | undefined
  try {
    keepToOwner(file)
    db = openDataFile(file)
    return { db, revision: revisionOf(db) }
  } catch (e) {
    db?.close()
    release()
    throw e
  }
}

/** One server per data folder: a lock that the kernel releases when the process ends in any way, kill -9 included. */
function lockFolder(file: string): FileLock {
  let lock: FileLock | undefined
  try {
    lock = takeFileLock(file)
  } catch (e) {
    throw new KubeNodeError(apiserverErrors.KN6116({ file, why: messageOf(e) }), { cause: e })
  }
  if (lock === undefined) throw new KubeNodeError(apiserverErrors.KN6103({ folder: dirname(file) }))
  return lock
}
