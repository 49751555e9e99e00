// Reads rows of a history page by page: a page takes a few milliseconds, holds no transaction open afterwards, and a server can do other work between two.
import type { DatabaseSync } from 'node:sqlite'

/** As stored: arrays cost a third of objects. */
export type RawRow = readonly [id: number, subject: number, topic: number, value: number | null, age: number | null]

/** Rows of a page. */
export const PAGE_ROWS = 2_000

const COLUMNS = 'id, subject, topic, value, age'

/** Ids from `from` up to and without `to`, in the order of observation. */
export function* pagesOf(db: DatabaseSync, from: number, to: number): Generator<readonly RawRow[]> {
  const next = db.prepare(`SELECT ${COLUMNS} FROM row WHERE id >= ? AND id < ? ORDER BY id LIMIT ${PAGE_ROWS}`)
  next.setReturnArrays(true)
  for (let at = from; ;) {
    const page = next.all(at, to) as unknown as readonly RawRow[]
    yield page
    const last = page.at(-1)
    if (last === undefined || page.length < PAGE_ROWS) return
    at = last[0] + 1
  }
}

/** Ids below `to`, the newest first. */
export function* pagesBefore(db: DatabaseSync, to: number): Generator<readonly RawRow[]> {
  const next = db.prepare(`SELECT ${COLUMNS} FROM row WHERE id < ? ORDER BY id DESC LIMIT ${PAGE_ROWS}`)
  next.setReturnArrays(true)
  for (let at = to; ;) {
    const page = next.all(at) as unknown as readonly RawRow[]
    yield page
    const last = page.at(-1)
    if (last === undefined || page.length < PAGE_ROWS) return
    at = last[0]
  }
}

/** The newest rows of one object, in the order of observation. */
export function newestOfOne(db: DatabaseSync, subject: number, to: number, most: number): readonly RawRow[] {
  const rows = db.prepare(`SELECT ${COLUMNS} FROM row WHERE subject = ? AND id < ? ORDER BY id DESC LIMIT ?`)
  rows.setReturnArrays(true)
  return (rows.all(subject, to, most) as unknown as readonly RawRow[]).toReversed()
}

/** The rows of one object in the order of observation. */
export function rowsOfOne(db: DatabaseSync, subject: number, from: number, to: number): readonly RawRow[] {
  const rows = db.prepare(`SELECT ${COLUMNS} FROM row WHERE subject = ? AND id >= ? AND id < ? ORDER BY id`)
  rows.setReturnArrays(true)
  return rows.all(subject, from, to) as unknown as readonly RawRow[]
}
