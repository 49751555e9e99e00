// A backend on SQLite: one row an object, WAL with full sync, one transaction and one fsync a batch, in a thread of its own so
// that a slow disk never blocks the event loop.
import { mkdirSync } from 'node:fs'
import { dirname } from 'node:path'
import { DatabaseSync } from 'node:sqlite'
import { Worker } from 'node:worker_threads'
import { KubeNodeError, messageOf } from '#lib/errors.ts'
import type { Kept, StorageBackend } from './port.ts'

/** Raised when the layout of the tables changes; an older server refuses a newer file. */
export const DATA_VERSION = 1

const TABLES = `
  CREATE TABLE IF NOT EXISTS object (
    resource TEXT NOT NULL, namespace TEXT NOT NULL, name TEXT NOT NULL, revision INTEGER NOT NULL, bytes BLOB NOT NULL,
    PRIMARY KEY (resource, namespace, name)
  ) WITHOUT ROWID;
  CREATE TABLE IF NOT EXISTS clock (one INTEGER PRIMARY KEY CHECK (one = 1), revision INTEGER NOT NULL);
  INSERT OR IGNORE INTO clock VALUES (1, 0);`

interface Waiting {
  readonly resolve: () => void
  readonly reject: (e: Error) => void
}

/** Opens or makes the file and checks it; the thread that writes starts with the first commit. */
export function sqliteStorage(file: string): StorageBackend {
  mkdirSync(dirname(file), { recursive: true, mode: 0o700 })
  const db = openDatabase(file)
  let worker: Worker | undefined
  let waiting: Waiting | undefined
  let failed: Error | undefined

  const fail = (e: unknown) => {
    failed = new KubeNodeError(
      'KN6101',
      `cannot store anything in ${file} any more: ${messageOf(e)}; look at the disk, then start the server again`,
    )
    waiting?.reject(failed)
    waiting = undefined
  }
  const started = (): Worker => {
    if (worker !== undefined) return worker
    worker = new Worker(new URL('./sqlite-writer.ts', import.meta.url), { workerData: { file } })
    worker.on('message', (m: { readonly error?: string }) => {
      if (m.error !== undefined) return fail(new Error(m.error))
      const w = waiting
      waiting = undefined
      w?.resolve()
    })
    worker.on('error', fail)
    worker.unref()
    return worker
  }
  return {
    load() {
      const clock = db.prepare('SELECT revision FROM clock').get()
      return { revision: Number(clock?.['revision'] ?? 0), objects: rows(db) }
    },
    commit(changes) {
      if (failed !== undefined) return Promise.reject(failed)
      return new Promise<void>((resolve, reject) => {
        waiting = { resolve, reject }
        const w = started()
        w.ref()
        w.postMessage(
          changes.map((c) => [c.resource, c.namespace, c.name, c.revision, c.bytes] satisfies WrittenChange),
        )
      }).finally(() => worker?.unref())
    },
    async close() {
      const w = worker
      if (w !== undefined) {
        const exited = new Promise((resolve) => w.once('exit', resolve))
        w.postMessage('close', [])
        await exited
      }
      db.close()
    },
  }
}

export type WrittenChange = readonly [
  resource: string,
  namespace: string,
  name: string,
  revision: number,
  bytes: Buffer | undefined,
]

function openDatabase(file: string): DatabaseSync {
  try {
    const db = new DatabaseSync(file)
    db.exec('PRAGMA journal_mode = WAL; PRAGMA synchronous = FULL; PRAGMA busy_timeout = 0;')
    const version = Number(db.prepare('PRAGMA user_version').get()?.['user_version'] ?? 0)
    if (version > DATA_VERSION) throw new Error(`its format is ${version}, this server knows ${DATA_VERSION}`)
    db.exec(`${TABLES} PRAGMA user_version = ${DATA_VERSION};`)
    return db
  } catch (e) {
    throw new KubeNodeError(
      'KN6102',
      `cannot open the data in ${file}: ${messageOf(e)}; is it the data folder of another server?`,
      {
        cause: e,
      },
    )
  }
}

function* rows(db: DatabaseSync): Iterable<Kept> {
  for (const row of db.prepare('SELECT resource, namespace, name, revision, bytes FROM object').iterate()) {
    const bytes = row['bytes']
    if (!(bytes instanceof Uint8Array)) continue
    yield {
      resource: String(row['resource']),
      namespace: String(row['namespace']),
      name: String(row['name']),
      revision: Number(row['revision']),
      bytes: Buffer.from(bytes.buffer, bytes.byteOffset, bytes.byteLength),
    }
  }
}
