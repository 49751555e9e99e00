// The tables of a history and the migrations from older layouts. One file per cluster.
import type { DatabaseSync } from 'node:sqlite'
import { defined } from '#lib/defined.ts'
import { type DeedLine, chained } from '../deeds/chain.ts'
import type { Deed } from '../deeds/deeds.ts'
import { LINKING_TOPICS, namesIn, namesInDeed } from './links.ts'

/** Raised with each migration below. */
export const LAYOUT = 3
/** Rows are small and there are millions: larger pages waste less. */
const PAGE_BYTES = 8_192
/** The id of a row is its time of observation times this, plus a number: rows are in the order of observation, and a time range is a range of ids. */
export const ROWS_PER_MS = 1_024

/** Names in `fact`: when the recorder last wrote, and that lines of an export were imported, so that no recorder is expected. */
export const ALIVE = 'alive'
export const IMPORTED = 'imported'

/**
 * `row` has one row per transition. `value` is NULL if the fact ended. `age` is how many seconds earlier the source dates it; NULL without a date.
 * `value.used` is the last day on which a row with the value was written, counted from 1970. `open` is the current state, with which a restarted recorder compares.
 * `gap` has periods in which something was not recorded; `ends` is NULL while it lasts.
 */
const TABLES = `
  CREATE TABLE topic (id INTEGER PRIMARY KEY, path TEXT NOT NULL UNIQUE);
  CREATE TABLE value (id INTEGER PRIMARY KEY, used INTEGER NOT NULL, hash BLOB NOT NULL UNIQUE, json TEXT NOT NULL);
  CREATE TABLE subject (id INTEGER PRIMARY KEY, kind TEXT NOT NULL, namespace TEXT NOT NULL, name TEXT NOT NULL, uid TEXT NOT NULL);
  CREATE UNIQUE INDEX subject_by_uid ON subject (kind, uid);
  CREATE INDEX subject_by_name ON subject (kind, name);
  CREATE TABLE row (id INTEGER PRIMARY KEY, subject INTEGER NOT NULL, topic INTEGER NOT NULL, value INTEGER, age INTEGER);
  CREATE INDEX row_by_subject ON row (subject);
  CREATE TABLE open (subject INTEGER NOT NULL, topic INTEGER NOT NULL, value INTEGER NOT NULL, stamp INTEGER, PRIMARY KEY (subject, topic)) WITHOUT ROWID;
  CREATE TABLE gap (id INTEGER PRIMARY KEY, starts INTEGER NOT NULL, ends INTEGER, why TEXT NOT NULL, kind TEXT, subject INTEGER, details TEXT);
  CREATE TABLE deed (n INTEGER PRIMARY KEY, observed INTEGER NOT NULL, line TEXT NOT NULL);
  CREATE TABLE day (day TEXT PRIMARY KEY, sums TEXT NOT NULL) WITHOUT ROWID;
  CREATE TABLE fact (name TEXT PRIMARY KEY, value NOT NULL) WITHOUT ROWID;`

/** Names of the objects that a subject is for, such as the node of a repair, and those that a line of who did what is about. */
const LINKS = `
  CREATE TABLE link (name TEXT NOT NULL, subject INTEGER NOT NULL, PRIMARY KEY (name, subject)) WITHOUT ROWID;
  CREATE TABLE deed_name (name TEXT NOT NULL, n INTEGER NOT NULL, PRIMARY KEY (name, n)) WITHOUT ROWID;`

const NAMES = [...(TABLES + LINKS).matchAll(/CREATE TABLE (\w+)/g)].map(([, name]) => name)

/** Why it is not the file of a recorder, whatever its layout says. A view in place of a table could keep a reader busy forever. */
export function strangeIn(db: DatabaseSync): string | undefined {
  const types = new Map(
    db
      .prepare('SELECT name, type FROM sqlite_schema')
      .all()
      .map(({ name, type }) => [String(name), String(type)]),
  )
  const missing = NAMES.find((name) => types.get(name ?? '') !== 'table')
  if (missing !== undefined) return `it has no table ${missing}`
  return [...types.values()].some((type) => type === 'view' || type === 'trigger')
    ? 'it has views or triggers, which no recorder makes'
    : undefined
}

/** Migrations, each from one layout to the next. */
const MIGRATIONS: Readonly<Record<number, (db: DatabaseSync) => void>> = {
  1: (db) => {
    db.exec(LINKS)
    const link = db.prepare('INSERT OR IGNORE INTO link VALUES (?, ?)')
    const linking = LINKING_TOPICS.map((path) => `'${path}'`).join()
    const rows = db.prepare(`SELECT DISTINCT r.subject, t.path, v.json FROM topic t JOIN row r ON r.topic = t.id
      JOIN value v ON v.id = r.value WHERE t.path IN (${linking})`)
    for (const { subject, path, json } of rows.iterate())
      for (const name of namesIn(String(path), String(json))) link.run(name, Number(subject))
    const ofDeed = db.prepare('INSERT OR IGNORE INTO deed_name VALUES (?, ?)')
    for (const { n, line } of db.prepare('SELECT n, line FROM deed').iterate())
      for (const name of namesInDeed(JSON.parse(String(line)) as Deed)) ofDeed.run(name, Number(n))
  },
  // Before 0.1.0 the two times had other names. The chain is computed again: its digests are of the lines as they are.
  2: (db) => {
    if (db.prepare("SELECT 1 FROM pragma_table_info('deed') WHERE name = 'heard'").get() !== undefined)
      db.exec('ALTER TABLE deed RENAME COLUMN heard TO observed')
    const rewrite = db.prepare('UPDATE deed SET line = ? WHERE n = ?')
    let prev: string | undefined
    for (const { n, line } of db.prepare('SELECT n, line FROM deed ORDER BY n').all()) {
      const { heard, said, digest, ...rest } = JSON.parse(String(line)) as OldDeedLine
      const deed = { ...rest, ...defined({ reported: said }), observed: heard, prev: prev ?? rest.prev }
      const renewed = digest === '' ? { ...deed, digest } : chained(deed, deed)
      rewrite.run(JSON.stringify(renewed), Number(n))
      prev = renewed.digest
    }
  },
}

interface OldDeedLine extends Omit<DeedLine, 'observed' | 'reported'> {
  readonly heard: number
  readonly said?: number
}

export const pragma = (db: DatabaseSync, name: string): number =>
  Number(db.prepare(`PRAGMA ${name}`).get()?.[name] ?? 0)

/** Migrates the file to the current layout. Returns false if the file is newer than this program. */
export function brought(db: DatabaseSync): boolean {
  const seen = pragma(db, 'user_version')
  if (seen > LAYOUT) return false
  if (seen === 0) {
    db.exec(
      `PRAGMA page_size = ${PAGE_BYTES}; PRAGMA auto_vacuum = INCREMENTAL; PRAGMA journal_mode = WAL; PRAGMA synchronous = FULL`,
    )
    db.exec(`BEGIN IMMEDIATE; ${TABLES} ${LINKS} PRAGMA user_version = ${LAYOUT}; COMMIT`)
    return true
  }
  db.exec('PRAGMA journal_mode = WAL; PRAGMA synchronous = FULL')
  for (let from = seen; from < LAYOUT; from++) migrate(db, from)
  return true
}

/** As a whole or not at all. */
function migrate(db: DatabaseSync, from: number): void {
  db.exec('BEGIN IMMEDIATE')
  try {
    MIGRATIONS[from]?.(db)
    db.exec(`PRAGMA user_version = ${from + 1}; COMMIT`)
  } catch (e) {
    if (db.isTransaction) db.exec('ROLLBACK')
    throw e
  }
}
