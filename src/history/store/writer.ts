// Writes a history in atomic, durable batches of rows, gaps and deeds. Decides nothing.
import type { DatabaseSync, StatementSync } from 'node:sqlite'
import { type Packed, NOT_REPORTED, packed } from '../facts/transition.ts'
import { type DeedLine, beginningOf } from '../deeds/chain.ts'
import { ALIVE, IMPORTED, ROWS_PER_MS } from './layout.ts'
import { LINKING_TOPICS, namesIn, namesInDeed } from './links.ts'
import { Names, type Subject, subjectFrom } from './names.ts'

const DAY_MS = 86_400_000
/** Bounds the memory of marks; marking a value twice costs one more write. */
const MAX_USED = 50_000

export interface PendingRow {
  readonly subject: number
  readonly topic: number
  readonly value: number | undefined
  /** Milliseconds since 1970, or NOT_REPORTED. */
  readonly reported: number
  readonly observed: number
}

export interface Gap {
  readonly starts: number
  /** Undefined while it lasts. */
  readonly ends: number | undefined
  readonly why: GapReason
  /** All kinds if undefined. */
  readonly kind?: string | undefined
  /** All objects if undefined. */
  readonly subject?: number | undefined
  readonly details?: string | undefined
}

export const GAP_REASONS = {
  RecorderAway: 'no recorder ran',
  NotWritten: 'no recorder has written since: none runs, or it cannot write',
  WatchLost: 'the API server did not answer, or had forgotten what happened since',
  WatchLate: 'the API server was silent: what happened was observed later',
  ServerWentBack: 'the API server was restored from a backup',
  QueueFull: 'more happened than could be written',
  TooManyChanges: 'one object changed more often than is recorded',
  ClockWentBack: 'the clock of the recorder went back',
  ClockJumped: 'the clock of the recorder jumped ahead, or its machine was paused',
  FileDamaged: 'the file before was damaged and was set aside',
} as const
export type GapReason = keyof typeof GAP_REASONS

export interface Batch {
  readonly rows: readonly PendingRow[]
  readonly gaps: readonly Gap[]
  readonly deeds: readonly DeedLine[]
  /** Time of this write: after a restart, the gap starts here. */
  readonly now: number
}

export class HistoryWriter {
  readonly names: Names
  readonly #db: DatabaseSync
  readonly #row: StatementSync
  readonly #open: StatementSync
  readonly #close: StatementSync
  readonly #gap: StatementSync
  readonly #deed: StatementSync
  readonly #alive: StatementSync
  readonly #openOf: StatementSync
  readonly #use: StatementSync
  readonly #link: StatementSync
  readonly #deedName: StatementSync
  readonly #text: StatementSync
  /** Values already marked as used on this day. */
  readonly #used = { day: 0, ids: new Set<number>() }
  /** Id of the last row. */
  #last: number

  constructor(db: DatabaseSync) {
    this.#db = db
    this.names = new Names(db)
    this.#row = db.prepare('INSERT INTO row VALUES (?, ?, ?, ?, ?)')
    this.#open = db.prepare(
      'INSERT INTO open VALUES (?, ?, ?, ?) ON CONFLICT DO UPDATE SET value = excluded.value, stamp = excluded.stamp',
    )
    this.#close = db.prepare('DELETE FROM open WHERE subject = ? AND topic = ?')
    this.#gap = db.prepare('INSERT INTO gap (starts, ends, why, kind, subject, details) VALUES (?, ?, ?, ?, ?, ?)')
    this.#deed = db.prepare('INSERT INTO deed VALUES (?, ?, ?)')
    this.#alive = db.prepare(`INSERT INTO fact VALUES ('${ALIVE}', ?) ON CONFLICT DO UPDATE SET value = excluded.value`)
    this.#openOf = db.prepare('SELECT topic, value, stamp FROM open WHERE subject = ?')
    this.#use = db.prepare('UPDATE value SET used = ? WHERE id = ? AND used < ?')
    this.#deedName = db.prepare('INSERT OR IGNORE INTO deed_name VALUES (?, ?)')
    this.#link = db.prepare('INSERT OR IGNORE INTO link VALUES (?, ?)')
    this.#text = db.prepare('SELECT json AS text FROM value WHERE id = ?')
    this.#last = Number(db.prepare('SELECT coalesce(max(id), 0) AS id FROM row').get()?.['id'])
  }

  /** The last write; undefined for a new history. */
  alive(): number | undefined {
    const value = this.#db.prepare('SELECT value FROM fact WHERE name = ?').get(ALIVE)?.['value']
    return value === undefined ? undefined : Number(value)
  }

  /** Readers expect a recorder to write all the time, but not of an import. */
  markImported(isImport: boolean): void {
    if (isImport) this.#db.prepare('INSERT OR REPLACE INTO fact VALUES (?, 1)').run(IMPORTED)
    else this.#db.prepare('DELETE FROM fact WHERE name = ?').run(IMPORTED)
  }

  /** Time of observation of the last row; 0 for a new history. */
  lastObserved(): number {
    return Math.floor(this.#last / ROWS_PER_MS)
  }

  /** The currently recorded facts of a subject. */
  openOf(subject: number): Packed {
    const facts = this.#openOf.all(subject).map((r) => ({
      topic: Number(r['topic']),
      value: Number(r['value']),
      reported: r['stamp'] === null ? NOT_REPORTED : Number(r['stamp']),
    }))
    return packed(facts)
  }

  /** Subjects of a kind that are recorded as existing. */
  openSubjects(kind: string): readonly Subject[] {
    return this.#db
      .prepare('SELECT * FROM subject WHERE kind = ? AND id IN (SELECT DISTINCT subject FROM open)')
      .all(kind)
      .map(subjectFrom)
  }

  lastDeed(cluster: string): Pick<DeedLine, 'n' | 'digest'> {
    const found = this.#db.prepare('SELECT line FROM deed ORDER BY n DESC LIMIT 1').get()?.['line']
    return found === undefined ? { n: 0, digest: beginningOf(cluster) } : (JSON.parse(String(found)) as DeedLine)
  }

  textOf(table: 'topic' | 'value', id: number): string {
    const column = table === 'topic' ? 'path' : 'json'
    return String(this.#db.prepare(`SELECT ${column} AS text FROM ${table} WHERE id = ?`).get(id)?.['text'] ?? '')
  }

  /** Throws if the batch was not written. */
  write({ rows, gaps, deeds, now }: Batch): void {
    let last = this.#last
    this.#db.exec('BEGIN IMMEDIATE')
    try {
      this.names.write()
      const linking = new Map(LINKING_TOPICS.map((path) => [this.names.topicKnown(path), path]))
      for (const { subject, topic, value, reported, observed } of rows) {
        last = Math.max(last + 1, observed * ROWS_PER_MS)
        // Seconds, like the sources' times. Negative if the source's clock is ahead.
        const at = Math.floor(last / ROWS_PER_MS)
        const before = reported === NOT_REPORTED ? null : Math.round((at - reported) / 1_000)
        this.#row.run(last, subject, topic, value ?? null, before)
        if (value === undefined) {
          this.#close.run(subject, topic)
          continue
        }
        this.#open.run(subject, topic, value, reported === NOT_REPORTED ? null : reported)
        this.#markUsed(value, Math.floor(at / DAY_MS))
        const path = linking.get(topic)
        if (path !== undefined)
          for (const name of namesIn(path, String(this.#text.get(value)?.['text'] ?? 'null')))
            this.#link.run(name, subject)
      }
      for (const g of gaps)
        this.#gap.run(g.starts, g.ends ?? null, g.why, g.kind ?? null, g.subject ?? null, g.details ?? null)
      for (const line of deeds) {
        this.#deed.run(line.n, line.observed, JSON.stringify(line))
        for (const name of namesInDeed(line)) this.#deedName.run(name, line.n)
      }
      this.#alive.run(now)
      this.#db.exec('COMMIT')
    } catch (e) {
      if (this.#db.isTransaction) this.#db.exec('ROLLBACK')
      this.#used.ids.clear()
      throw e
    }
    this.#last = last
    this.names.written()
  }

  /** Deletes values that no row of a kept day uses. */
  #markUsed(value: number, day: number): void {
    if (this.#used.day !== day || this.#used.ids.size >= MAX_USED) {
      this.#used.day = day
      this.#used.ids.clear()
    }
    if (this.#used.ids.has(value)) return
    this.#used.ids.add(value)
    this.#use.run(day, value, day)
  }

  close(): void {
    this.#db.close()
  }
}
