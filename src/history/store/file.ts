// Opens the file of a history for its recorder or for readers. The recorder moves a damaged file aside and starts a new one: a history that cannot be read must not
// block new recording.
import { chmodSync, existsSync, readdirSync, renameSync, statSync } from 'node:fs'
import { join } from 'node:path'
import { DatabaseSync } from 'node:sqlite'
import { KubeNodeError, messageOf } from '#lib/errors.ts'
import { makePrivateFolder } from '#lib/private-folder.ts'
import { historyErrors } from '../history-errors.ts'
import { LAYOUT, brought, pragma, strangeIn } from './layout.ts'

const SUFFIX = '.history.db'
/** How long a reader waits for a checkpoint of the recorder. */
const READ_WAIT_MS = 5_000
/** Page cache of a recorder. The index of objects is larger than any cache: its pages are in that of the kernel. */
const CACHE_KIB = 2_048

export const historyFile = (folder: string, cluster: string): string => join(folder, `${cluster}${SUFFIX}`)

/** Clusters with a history in this folder. */
export const clustersIn = (folder: string): readonly string[] =>
  existsSync(folder)
    ? readdirSync(folder)
        .filter((name) => name.endsWith(SUFFIX))
        .map((name) => name.slice(0, -SUFFIX.length))
        .toSorted()
    : []

export interface OpenedFile {
  readonly db: DatabaseSync
  /** Why the previous file was moved aside, and its new path. */
  readonly setAside: { readonly why: string; readonly file: string } | undefined
}

/** For the cluster's only recorder, which holds the lock. */
export function openForRecording(folder: string, cluster: string, now: number): OpenedFile {
  makePrivateFolder(folder)
  const file = historyFile(folder, cluster)
  const why = existsSync(file) ? damageOf(file) : undefined
  const setAside = why === undefined ? undefined : { why, file: asideOf(file, now) }
  const db = new DatabaseSync(file, { timeout: READ_WAIT_MS })
  try {
    if (!brought(db))
      throw new KubeNodeError(historyErrors.KN17001({ file, seen: pragma(db, 'user_version'), known: LAYOUT }))
    db.exec(`PRAGMA cache_size = -${CACHE_KIB}`)
    chmodSync(file, 0o600)
    return { db, setAside }
  } catch (e) {
    db.close()
    throw e
  }
}

/** Undefined if no page is damaged. */
function damageOf(file: string): string | undefined {
  let db: DatabaseSync | undefined
  try {
    db = new DatabaseSync(file, { timeout: READ_WAIT_MS })
    if (pragma(db, 'user_version') > LAYOUT) return undefined
    const seen = db.prepare('PRAGMA quick_check(1)').get()?.['quick_check']
    if (seen !== 'ok') return String(seen)
    if (pragma(db, 'user_version') === LAYOUT) return strangeIn(db)
    return pragma(db, 'user_version') === 0 && pragma(db, 'schema_version') > 0
      ? 'it is the database of another program'
      : undefined
  } catch (e) {
    return messageOf(e)
  } finally {
    db?.close()
  }
}

/** Moves a file out of the way, together with its log. */
export function asideOf(file: string, now: number): string {
  const stamp = new Date(now).toISOString().replaceAll(/[:.]/g, '-')
  const aside = `${file}.aside-${stamp}`
  for (const end of ['', '-wal', '-shm']) if (existsSync(`${file}${end}`)) renameSync(`${file}${end}`, `${aside}${end}`)
  return aside
}

/** Works while the recorder writes. */
export function openForReading(folder: string, cluster: string): DatabaseSync {
  const file = historyFile(folder, cluster)
  if (!existsSync(file)) throw new KubeNodeError(historyErrors.KN17003({ folder }))
  let db: DatabaseSync | undefined
  try {
    // A pipe would be waited for.
    if (!statSync(file).isFile()) throw new KubeNodeError(historyErrors.KN17004({ file, why: 'it is no plain file' }))
    db = new DatabaseSync(file, { readOnly: true, timeout: READ_WAIT_MS })
    const seen = pragma(db, 'user_version')
    if (seen !== LAYOUT) throw new KubeNodeError(historyErrors.KN17001({ file, seen, known: LAYOUT }))
    const why = strangeIn(db)
    if (why !== undefined) throw new KubeNodeError(historyErrors.KN17004({ file, why }))
    return db
  } catch (e) {
    db?.close()
    if (e instanceof KubeNodeError) throw e
    throw new KubeNodeError(historyErrors.KN17004({ file, why: messageOf(e) }), { cause: e })
  }
}
