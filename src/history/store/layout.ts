// The tables of a history, and how an older file becomes one of now. One file for each cluster.
import type { DatabaseSync } from 'node:sqlite'

/** Raised with each migration below. */
export const LAYOUT = 1
/** Rows are small and there are millions: larger pages waste less. */
const PAGE_BYTES = 8_192
/** Ids of rows are the time heard times this, plus a number: rows are in the order in which they were heard, and a time range is a range of ids. */
export const ROWS_PER_MS = 1_024

/**
 * `row` has one row for each transition. `value` NULL: the fact ended. `age`: how many seconds earlier its source dates it; NULL without a date.
 * `value.used`: the last day on which a row with it was written, counted from 1970. `open` is the state now: what a restarted recorder compares with. `gap`: times in which something was not recorded; `ends` NULL: it lasts.
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

/** From each older layout to the next. */
const MIGRATIONS: Readonly<Record<number, string>> = {}

export const pragma = (db: DatabaseSync, name: string): number =>
  Number(db.prepare(`PRAGMA ${name}`).get()?.[name] ?? 0)

/** Leaves the file in the layout of now. False if it is newer than this program. */
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
