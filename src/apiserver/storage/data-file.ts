// Opens the file of objects: new, upgraded or unchanged, and reads it; a file that cannot be served safely is refused with a number.
import { chmodSync, existsSync } from 'node:fs'
import { DatabaseSync } from 'node:sqlite'
import { checksumOf, DATA_FORMAT, PAGE_BYTES, TABLES, upgradeFormat } from './data-format.ts'
import type { Kept } from './port.ts'
import { refuseGoneBack } from './revision-mark.ts'
import { damaged, foreign, missing, newer, openFailure } from './storage-error.ts'

/** For the one server of the folder, which holds its lock. */
export function openDataFile(file: string): DatabaseSync {
  return opened(file, {}, (db) => {
    // a missing file would be created empty, and hide the loss
    if (formatOf(db, file) === 0) refuseGoneBack(file, 0)
    db.exec(`PRAGMA page_size = ${PAGE_BYTES}; PRAGMA journal_mode = WAL; PRAGMA synchronous = FULL;`)
    const format = formatOf(db, file)
    if (format === 0) db.exec(`BEGIN IMMEDIATE; ${TABLES} PRAGMA user_version = ${DATA_FORMAT}; COMMIT`)
    // it contains Secrets
    chmodSync(file, 0o600)
    refuseDamaged(db, file)
    refuseGoneBack(file, revisionOf(db))
    if (format !== 0) upgradeFormat(db, format)
  })
}

/** A server that starts or ends locks its file briefly. */
const LOOK_WAIT_MS = 5_000

/** For readers, also while a server runs on it. Any layout up to ours. */
export function openForReading(file: string): DatabaseSync {
  if (!existsSync(file)) throw missing(file)
  return opened(file, { readOnly: true, timeout: LOOK_WAIT_MS }, (db) => {
    if (formatOf(db, file) !== 0) return
    // All writes were in the deleted log.
    refuseGoneBack(file, 0)
    throw damaged(file, 'it is empty')
  })
}

function opened(
  file: string,
  options: { readonly readOnly?: boolean; readonly timeout?: number },
  prepare: (db: DatabaseSync) => void,
): DatabaseSync {
  let db: DatabaseSync | undefined
  try {
    db = new DatabaseSync(file, { timeout: 0, ...options })
    prepare(db)
    return db
  } catch (e) {
    db?.close()
    throw openFailure(file, e)
  }
}

const pragma = (db: DatabaseSync, name: string): number => Number(db.prepare(`PRAGMA ${name}`).get()?.[name] ?? 0)

/** 0: nothing is in it yet. */
export function formatOf(db: DatabaseSync, file: string): number {
  const format = pragma(db, 'user_version')
  if (format > DATA_FORMAT) throw newer(file, format, DATA_FORMAT)
  const tables = db.prepare("SELECT count(*) AS n FROM sqlite_schema WHERE name IN ('object', 'clock')").get()
  const isOurs = Number(tables?.['n'] ?? 0) === 2 && format > 0
  if (pragma(db, 'schema_version') > 0 && !isOurs) throw foreign(file)
  return format
}

export const revisionOf = (db: DatabaseSync): number =>
  Number(db.prepare('SELECT revision FROM clock').get()?.['revision'] ?? 0)

/** Checks the structure of all pages; rows are checked when they are read. */
function refuseDamaged(db: DatabaseSync, file: string): void {
  const seen = db.prepare('PRAGMA quick_check(1)').get()?.['quick_check']
  if (seen !== 'ok') throw damaged(file, String(seen))
}

/** All objects, each held to its check sum. */
export function* rowsOf(db: DatabaseSync, file: string): Iterable<Kept> {
  const highest = revisionOf(db)
  try {
    for (const row of db.prepare('SELECT * FROM object').iterate()) {
      const kept = keptOf(row)
      if (kept === undefined || kept.revision > highest)
        throw damaged(file, `the check sum of ${shownRow(row)} is wrong`)
      yield kept
    }
  } catch (e) {
    throw openFailure(file, e)
  }
}

export const shownRow = ({ resource, namespace, name }: Readonly<Record<string, unknown>>): string =>
  [resource, namespace, name].map((v) => (typeof v === 'string' ? v : '?')).join(' ')

/** Undefined when it differs from what was written. */
export function keptOf(row: Readonly<Record<string, unknown>>): Kept | undefined {
  const { resource, namespace, name, revision, bytes, checksum } = row
  if (typeof resource !== 'string' || typeof namespace !== 'string' || typeof name !== 'string') return undefined
  if (typeof revision !== 'number' || !(bytes instanceof Uint8Array)) return undefined
  if (checksum !== undefined && checksum !== checksumOf([resource, namespace, name], revision, bytes)) return undefined
  return { resource, namespace, name, revision, bytes: Buffer.from(bytes.buffer, bytes.byteOffset, bytes.byteLength) }
}
