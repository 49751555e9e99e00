// The thread that writes: takes batches in order, answers each after its fsync, and ends at the first failure.
import { DatabaseSync } from 'node:sqlite'
import { parentPort, workerData } from 'node:worker_threads'
import { messageOf } from '#lib/errors.ts'
import type { WrittenChange } from './sqlite.ts'

/** Pages of the WAL after which it is folded into the file: 16 MiB, so that folding is rare and short. */
const CHECKPOINT_PAGES = 4_096

const port = parentPort
if (port !== null) serve(String((workerData as { readonly file: unknown }).file))

function serve(file: string): void {
  const db = new DatabaseSync(file)
  db.exec(`PRAGMA synchronous = FULL; PRAGMA wal_autocheckpoint = ${CHECKPOINT_PAGES};`)
  const put = db.prepare('INSERT OR REPLACE INTO object VALUES (?, ?, ?, ?, ?)')
  const drop = db.prepare('DELETE FROM object WHERE resource = ? AND namespace = ? AND name = ?')
  const tick = db.prepare('UPDATE clock SET revision = ?')

  const write = (changes: readonly WrittenChange[]): void => {
    let last = 0
    db.exec('BEGIN IMMEDIATE')
    for (const [resource, namespace, name, revision, bytes] of changes) {
      if (bytes === undefined) drop.run(resource, namespace, name)
      else put.run(resource, namespace, name, revision, bytes)
      last = revision
    }
    tick.run(last)
    db.exec('COMMIT')
  }
  port?.on('message', (message: 'close' | readonly WrittenChange[]) => {
    if (message === 'close') {
      db.close()
      port.close()
      return
    }
    try {
      write(message)
      port.postMessage({})
    } catch (e) {
      port.postMessage({ error: messageOf(e) })
      port.close()
    }
  })
}
