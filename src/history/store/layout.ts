// The tables of a history and the migrations from older layouts. One file per cluster.
import type { DatabaseSync } from 'node:sqlite'

/** Raised with each migration below. */
export const LAYOUT = 1
/** Rows are small and there are millions: larger pages waste less. */
const PAGE_BYTES = 8_192
/** The id of a row is its time of observation times this, plus a number: rows are in the order of observation, and a time range is a range of ids. */
export const ROWS_PER_MS = 1_024

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
  CREATE TABLE deed (n INTEGER PRIMARY KEY, heard INTEGER NOT NULL, line TEXT NOT NULL);
  CREATE TABLE day (day TEXT PRIMARY KEY, sums TEXT NOT NULL) WITHOUT ROWID;
  CREATE TABLE fact (name TEXT PRIMARY KEY, value NOT NULL) WITHOUT ROWID;`

/** Migrations, each from one layout to the next. */
const MIGRATIONS: Readonly<Record<number, string>> = {}

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
    db.exec(`BEGIN IMMEDIATE; ${TABLES} PRAGMA user_version = ${LAYOUT}; COMMIT`)
    return true
  }
  db.exec('PRAGMA journal_mode = WAL; PRAGMA synchronous = FULL')
  for (let from = seen; from < LAYOUT; from++)
    db.exec(`BEGIN IMMEDIATE; ${MIGRATIONS[from] ?? ''} PRAGMA user_version = ${from + 1}; COMMIT`)
  return true
}
