// Keeps a history within its bounds by dropping the oldest days and keeping their sums. The last row of each fact before the new start stays, so that the state at
// any later moment is still known.
import type { DatabaseSync } from 'node:sqlite'
import { timestamp } from '#lib/clock.ts'
import { ROWS_PER_MS, pragma } from './layout.ts'

const DAY_MS = 86_400_000
const DAY_CHARS = 10
/** Topics of a day with a sum of their own, the busiest first; the rest share one sum. */
const MAX_TOPICS_OF_DAY = 50
/** Rows per transaction and pages returned to the disk at once, since the recorder waits meanwhile. */
const MAX_DELETED = 5_000
const MAX_PAGES_BACK = 2_000

export interface DroppedDay {
  readonly day: string
  readonly rows: number
}

export interface KeptBounds {
  readonly maxBytes: number
  readonly days: number
}

/** Bytes in use, without free pages. */
export const bytesOf = (db: DatabaseSync): number =>
  (pragma(db, 'page_count') - pragma(db, 'freelist_count')) * pragma(db, 'page_size')

const dayOf = (ms: number): string => timestamp(ms).slice(0, DAY_CHARS)

/** Lines of who did what may take this share of the size. */
const DEEDS_SHARE = 1 / 4
/** A line with its names. */
const DEED_BYTES = 512

/**
 * Who did what is kept longer than the facts, but not forever. Called each hour; drops a bounded number of lines. The chain of the others is whole from its
 * first line on.
 */
export function dropOldestDeeds(db: DatabaseSync, { maxBytes }: Pick<KeptBounds, 'maxBytes'>): number {
  const span = db.prepare('SELECT (SELECT min(n) FROM deed) AS first, (SELECT max(n) FROM deed) AS last').get()
  if (span === undefined || span['first'] === null) return 0
  const [first, last] = [Number(span['first']), Number(span['last'])]
  const most = Math.max(1, Math.floor((maxBytes * DEEDS_SHARE) / DEED_BYTES))
  const until = Math.min(last - most, first + MAX_DELETED - 1)
  if (until < first) return 0
  db.exec('BEGIN IMMEDIATE')
  db.prepare('DELETE FROM deed_name WHERE n <= ?').run(until)
  db.prepare('DELETE FROM deed WHERE n <= ?').run(until)
  db.exec('COMMIT')
  return until - first + 1
}

/** Call hourly. Drops at most one day per call, to keep calls short. Undefined if there was nothing to drop. */
export function dropOldestDay(db: DatabaseSync, { maxBytes, days }: KeptBounds, now: number): DroppedDay | undefined {
  const today = Math.floor(now / DAY_MS) * DAY_MS
  const oldest = oldestDay(db)
  const isTooMuch = bytesOf(db) > maxBytes
  if (oldest === undefined || oldest >= today || (oldest >= today - days * DAY_MS && !isTooMuch)) return undefined
  const rows = dropDay(db, oldest)
  db.exec(`PRAGMA incremental_vacuum(${MAX_PAGES_BACK})`)
  return { day: dayOf(oldest), rows }
}

/** The oldest kept day, in milliseconds since 1970. */
function oldestDay(db: DatabaseSync): number | undefined {
  const begins = db.prepare("SELECT value FROM fact WHERE name = 'begins'").get()?.['value']
  const first = db.prepare('SELECT min(id) AS id FROM row WHERE id >= ?').get(Number(begins ?? 0) * ROWS_PER_MS)?.['id']
  return first === null || first === undefined ? undefined : Math.floor(Number(first) / ROWS_PER_MS / DAY_MS) * DAY_MS
}

function dropDay(db: DatabaseSync, day: number): number {
  const end = (day + DAY_MS) * ROWS_PER_MS
  const gone: number[] = []
  let count = 0
  const last = new Map<number, { readonly id: number; readonly isGone: boolean }>()
  const counts = new Map<string, number>()
  const name = topicNames(db)
  // One object at a time, to bound memory.
  for (const { subject } of db.prepare('SELECT DISTINCT subject FROM row WHERE id < ?').all(end)) {
    last.clear()
    const rows = db.prepare('SELECT id, topic, value FROM row WHERE subject = ? AND id < ? ORDER BY id')
    for (const row of rows.iterate(Number(subject), end)) {
      const [id, topic] = [Number(row['id']), Number(row['topic'])]
      if (id >= day * ROWS_PER_MS) counts.set(name(topic), (counts.get(name(topic)) ?? 0) + 1)
      const before = last.get(topic)
      if (before !== undefined) gone.push(before.id)
      last.set(topic, { id, isGone: row['value'] === null })
    }
    for (const { id, isGone } of last.values()) if (isGone) gone.push(id)
    if (gone.length >= MAX_DELETED) count += deleteRows(db, gone)
  }
  count += deleteRows(db, gone)
  const sums = JSON.stringify(summed(counts))
  db.exec('BEGIN IMMEDIATE')
  db.prepare('INSERT INTO day VALUES (?, ?) ON CONFLICT DO UPDATE SET sums = excluded.sums').run(dayOf(day), sums)
  db.prepare("INSERT INTO fact VALUES ('begins', ?) ON CONFLICT DO UPDATE SET value = excluded.value").run(day + DAY_MS)
  db.prepare('DELETE FROM gap WHERE ends < ?').run(day + DAY_MS)
  db.prepare(UNUSED_VALUES).run(Math.floor(day / DAY_MS), end)
  db.exec(UNUSED_SUBJECTS)
  db.exec('DELETE FROM link WHERE NOT EXISTS (SELECT 1 FROM subject WHERE subject.id = link.subject)')
  db.exec('COMMIT')
  return count
}

/** Rows before the new start are few: only the last one of each fact. */
const UNUSED_VALUES = `DELETE FROM value WHERE used <= ?
  AND id NOT IN (SELECT value FROM row WHERE id < ? AND value IS NOT NULL) AND id NOT IN (SELECT value FROM open)`
const UNUSED_SUBJECTS = `DELETE FROM subject WHERE NOT EXISTS (SELECT 1 FROM row WHERE row.subject = subject.id)
  AND NOT EXISTS (SELECT 1 FROM open WHERE open.subject = subject.id)`

function topicNames(db: DatabaseSync): (id: number) => string {
  const names = new Map(
    db
      .prepare('SELECT id, path FROM topic')
      .all()
      .map((r) => [Number(r['id']), String(r['path'])]),
  )
  return (id) => names.get(id) ?? ''
}

/** Returns how many, and empties the list. */
function deleteRows(db: DatabaseSync, ids: number[]): number {
  const remove = db.prepare('DELETE FROM row WHERE id = ?')
  db.exec('BEGIN IMMEDIATE')
  for (const id of ids) remove.run(id)
  db.exec('COMMIT')
  const count = ids.length
  ids.length = 0
  return count
}

function summed(counts: ReadonlyMap<string, number>): Readonly<Record<string, number>> {
  const sorted = [...counts].toSorted(([, a], [, b]) => b - a)
  const other = sorted.slice(MAX_TOPICS_OF_DAY).reduce((sum, [, n]) => sum + n, 0)
  return { ...Object.fromEntries(sorted.slice(0, MAX_TOPICS_OF_DAY)), ...(other > 0 && { other }) }
}
