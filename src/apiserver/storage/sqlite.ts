// A backend on SQLite: one row an object, WAL with full sync, one transaction and one fsync a batch, in a thread of its own so
// that a slow disk never blocks the event loop.
import { chmodSync, mkdirSync } from 'node:fs'
import { dirname } from 'node:path'
import { DatabaseSync } from 'node:sqlite'
import { Worker } from 'node:worker_threads'
import { KubeNodeError, messageOf } from '#lib/errors.ts'
import { lockFolder } from './folder-lock.ts'
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
  const lock = lockFolder(`${file}.lock`)
  const db = openedOr(file, () => lock.release())
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
  const revision = Number(db.prepare('SELECT revision FROM clock').get()?.['revision'] ?? 0)
  // a new store is written to at once: the thread starts while keys are made
  if (revision === 0) started()
  return {
    load: () => ({ revision, objects: rows(db, file) }),
    commit(changes) {
      if (failed !== undefined) return Promise.reject(failed)
      return new Promise<void>((resolve, reject) => {
        waiting = { resolve, reject }
        const w = started()
        w.ref()
        const written = changes.map((c): WrittenChange => [c.resource, c.namespace, c.name, c.revision, c.bytes])
        w.postMessage(written, [])
      }).finally(() => worker?.unref())
    },
    async close() {
      const w = worker
      if (w !== undefined) {
        const exited = new Promise((resolve) => w.once('exit', resolve))
        // an idle thread does not keep the process alive; its end must be seen
        w.ref()
        w.postMessage('close', [])
        await exited
      }
      db.close()
      lock.release()
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

function openedOr(file: string, release: () => void): DatabaseSync {
  try {
    return openDatabase(file)
  } catch (e) {
    release()
    throw unreadable(file, e)
  }
}

const unreadable = (file: string, e: unknown): KubeNodeError =>
  new KubeNodeError(
    'KN6102',
    `cannot read the data in ${file}: ${messageOf(e)}; is it the data folder of another program, or damaged? choose another with --data, or put back a copy`,
    { cause: e },
  )

function openDatabase(file: string): DatabaseSync {
  const db = new DatabaseSync(file)
  try {
    refuseForeign(db)
    db.exec('PRAGMA journal_mode = WAL; PRAGMA synchronous = FULL; PRAGMA busy_timeout = 0;')
    db.exec(`${TABLES} PRAGMA user_version = ${DATA_VERSION};`)
    // Secrets are in it
    chmodSync(file, 0o600)
    return db
  } catch (e) {
    db.close()
    throw e
  }
}

function refuseForeign(db: DatabaseSync): void {
  const pragma = (name: string): number => Number(db.prepare(`PRAGMA ${name}`).get()?.[name] ?? 0)
  const version = pragma('user_version')
  if (version > DATA_VERSION) throw new Error(`its format is ${version}, this server knows ${DATA_VERSION}`)
  const tables = db.prepare("SELECT count(*) AS n FROM sqlite_schema WHERE name IN ('object', 'clock')").get()
  // nothing is written into a database that has tables, but not ours
  if (pragma('schema_version') > 0 && Number(tables?.['n'] ?? 0) < 2)
    throw new Error('it is a database of another program')
}

function* rows(db: DatabaseSync, file: string): Iterable<Kept> {
  try {
    yield* kept(db)
  } catch (e) {
    throw unreadable(file, e)
  }
}

function* kept(db: DatabaseSync): Iterable<Kept> {
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
