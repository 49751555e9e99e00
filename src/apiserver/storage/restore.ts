// Restores a backup into an empty data folder. Revisions continue far above those of the backup, and of an earlier restore of it, so that a client with a
// later one gets a 410 and lists again, and never takes an old state for a new one.
import {
  chmodSync,
  closeSync,
  copyFileSync,
  existsSync,
  fsyncSync,
  mkdirSync,
  openSync,
  readdirSync,
  renameSync,
  rmSync,
  writeSync,
} from 'node:fs'
import { basename, dirname, join, resolve } from 'node:path'
import { DatabaseSync } from 'node:sqlite'
import { KubeNodeError, messageOf } from '#lib/errors.ts'
import { checkData, type DataReport } from './check-data.ts'
import { fileChecksum, KEYS, OBJECTS, syncPath } from './backup.ts'
import { formatOf, revisionOf } from './data-file.ts'
import { RevisionMark } from './revision-mark.ts'
import { openFailure } from './storage-error.ts'
import { apiserverErrors } from '../apiserver-errors.ts'

/** More than a server writes between a backup and its loss: a week at 1,500 writes a second. */
export const REVISION_STEP = 1_000_000_000
/** More than a server writes in a millisecond: the first revision of a later restore is above all of an earlier one. */
const REVISIONS_PER_MS = 1_000

export interface RestoreTime {
  readonly now: number
  /** The last revision of the data that it replaces, where that is known: clocks go back. */
  readonly above?: number
}

/** All or nothing: the folder appears whole, under its name, as the last step. */
export function restoreData(from: string, folder: string, time: RestoreTime): DataReport {
  const target = resolve(folder)
  refuseUsed(target)
  const report = checkedBackup(from)
  mkdirSync(dirname(target), { recursive: true })
  const part = join(dirname(target), `.${basename(target)}.restoring`)
  rmSync(part, { recursive: true, force: true })
  try {
    mkdirSync(join(part, KEYS), { recursive: true, mode: 0o700 })
    const file = join(part, OBJECTS)
    copyFileSync(from, file)
    chmodSync(file, 0o600)
    const revision = unpacked(file, part, time)
    const mark = new RevisionMark(file)
    mark.write(revision)
    mark.close()
    for (const path of [file, join(part, KEYS), part]) syncPath(path)
    renameSync(part, target)
    syncPath(dirname(target))
    return { ...report, revision }
  } catch (e) {
    rmSync(part, { recursive: true, force: true })
    throw openFailure(target, e)
  }
}

function refuseUsed(target: string): void {
  if (!existsSync(target) || readdirSync(target).length === 0) return
  throw new KubeNodeError(apiserverErrors.KN6112_folder({ target }))
}

function checkedBackup(from: string): DataReport {
  const refuse = (seen: string) => new KubeNodeError(apiserverErrors.KN6115({ from, seen }))
  if (!existsSync(from)) throw refuse('there is no such file')
  const report = checkData(from)
  if (report.problems.length > 0) throw refuse(report.problems.slice(0, 3).join('; '))
  const db = new DatabaseSync(from, { readOnly: true })
  try {
    for (const row of db.prepare('SELECT path, bytes, checksum FROM backup_file').iterate()) {
      const { path, bytes, checksum } = row
      if (typeof path !== 'string' || !/^pki\/[\w.-]+$/.test(path) || /^pki\/\.+$/.test(path))
        throw refuse(`it holds a file with a strange name, ${JSON.stringify(path)}`)
      if (!(bytes instanceof Uint8Array) || fileChecksum(path, bytes) !== checksum)
        throw refuse(`the check sum of ${path} is wrong`)
    }
    return report
  } catch (e) {
    throw e instanceof KubeNodeError ? e : refuse(messageOf(e))
  } finally {
    db.close()
  }
}

/** Moves key files out of the database into the folder; returns the new revision. */
function unpacked(file: string, part: string, { now, above = 0 }: RestoreTime): number {
  const db = new DatabaseSync(file)
  try {
    formatOf(db, file)
    for (const { path, bytes } of db.prepare('SELECT path, bytes FROM backup_file').iterate())
      if (bytes instanceof Uint8Array) writeDurably(join(part, String(path)), bytes)
    const revision = Math.max(Math.max(revisionOf(db), above) + REVISION_STEP, now * REVISIONS_PER_MS)
    db.exec('PRAGMA synchronous = FULL; BEGIN IMMEDIATE; DROP TABLE backup_file')
    db.prepare('UPDATE clock SET revision = ?').run(revision)
    db.exec('COMMIT')
    return revision
  } finally {
    db.close()
  }
}

function writeDurably(path: string, bytes: Uint8Array): void {
  const fd = openSync(path, 'wx', 0o600)
  try {
    writeSync(fd, bytes)
    fsyncSync(fd)
  } finally {
    closeSync(fd)
  }
}
