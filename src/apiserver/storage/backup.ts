// A backup of a data folder as one file: all objects of one moment, also while a server runs, and the keys that belong to them.
import {
  chmodSync,
  closeSync,
  existsSync,
  fsyncSync,
  openSync,
  readdirSync,
  readFileSync,
  renameSync,
  rmSync,
} from 'node:fs'
import { dirname, join, resolve } from 'node:path'
import { DatabaseSync } from 'node:sqlite'
import { KubeNodeError } from '#lib/errors.ts'
import { checkData, type DataReport } from './check-data.ts'
import { checksumOf, upgradeFormat } from './data-format.ts'
import { formatOf, openForReading } from './data-file.ts'
import { DISK_FULL, missing, openFailure } from './storage-error.ts'
import { apiserverErrors } from '../apiserver-errors.ts'

export const OBJECTS = 'objects.db'
export const KEYS = 'pki'

/** Beside the objects: the files that make it the same server. */
const BACKUP_TABLES = `
  CREATE TABLE backup_file (path TEXT PRIMARY KEY, bytes BLOB NOT NULL, checksum INTEGER NOT NULL) WITHOUT ROWID;`

export const fileChecksum = (path: string, bytes: Uint8Array): number => checksumOf(['file', '', path], 0, bytes)

/** Writes the backup and reads it again; an existing file is never written over. */
export function backupData(folder: string, out: string): DataReport {
  const target = resolve(out)
  const file = join(folder, OBJECTS)
  if (!existsSync(file)) throw missing(file)
  if (existsSync(target)) throw new KubeNodeError(apiserverErrors.KN6112({ target }))
  const part = `${target}.part`
  rmSync(part, { force: true })
  try {
    copyObjects(file, part)
    addFiles(part, folder)
    const report = checkData(part)
    if (report.problems.length > 0)
      throw new KubeNodeError(apiserverErrors.KN6113({ folder, problems: report.problems.slice(0, 3).join('; ') }))
    renameSync(part, target)
    syncPath(dirname(target))
    return report
  } catch (e) {
    rmSync(part, { force: true })
    rmSync(`${part}-journal`, { force: true })
    const failure = openFailure(file, e)
    throw failure.code === DISK_FULL ? openFailure(target, e) : failure
  }
}

/** One read transaction, so one moment, whatever a server writes meanwhile. */
function copyObjects(file: string, part: string): void {
  const db = openForReading(file)
  try {
    // created with its final mode, before anything is in it
    closeSync(openSync(part, 'wx', 0o600))
    db.prepare('VACUUM INTO ?').run(part)
  } finally {
    db.close()
  }
}

function addFiles(part: string, folder: string): void {
  const db = new DatabaseSync(part)
  try {
    db.exec('PRAGMA journal_mode = DELETE; PRAGMA synchronous = FULL;')
    upgradeFormat(db, formatOf(db, part))
    db.exec(`BEGIN IMMEDIATE; ${BACKUP_TABLES}`)
    const put = db.prepare('INSERT INTO backup_file VALUES (?, ?, ?)')
    for (const path of keyFiles(folder)) {
      const bytes = readFileSync(join(folder, path))
      put.run(path, bytes, fileChecksum(path, bytes))
    }
    db.exec('COMMIT')
  } finally {
    db.close()
  }
  chmodSync(part, 0o600)
  syncPath(part)
}

function keyFiles(folder: string): readonly string[] {
  const keys = join(folder, KEYS)
  if (!existsSync(keys)) return []
  return readdirSync(keys, { withFileTypes: true })
    .filter((f) => f.isFile())
    .map((f) => `${KEYS}/${f.name}`)
}

/** Syncs a file or a folder, so that its content or its names survive a power loss. */
export function syncPath(path: string): void {
  const fd = openSync(path, 'r')
  try {
    fsyncSync(fd)
  } finally {
    closeSync(fd)
  }
}
