// Reads a history: facts by object and time, gaps, and deeds. Decides nothing.
import type { DatabaseSync } from 'node:sqlite'
import type { DeedLine } from '../deeds/chain.ts'
import type { Fact } from '../facts/facts.ts'
import { ALIVE, IMPORTED, ROWS_PER_MS } from '../store/layout.ts'
import { openForReading } from '../store/file.ts'
import { type Subject, subjectFrom } from '../store/names.ts'
import type { GapReason } from '../store/writer.ts'

export interface Transition {
  /** Milliseconds since 1970. */
  readonly observed: number
  /** Undefined if the source has no time. */
  readonly reported: number | undefined
  readonly subject: Subject
  readonly topic: string
  /** Canonical JSON; undefined if the fact ended. */
  readonly value: string | undefined
}

export interface RecordedGap {
  readonly starts: number
  /** Undefined while it lasts. */
  readonly ends: number | undefined
  readonly why: GapReason
  readonly kind: string | undefined
  readonly subject: Subject | undefined
  readonly details: string | undefined
}

export interface Range {
  /** Inclusive. */
  readonly from: number
  /** Exclusive. */
  readonly to: number
}

export interface Span {
  readonly begins: number
  readonly ends: number
}

/** One query for both, without the subqueries, would read all rows. */
const FIRST_AND_LAST = 'SELECT (SELECT min(id) FROM row) AS first, (SELECT max(id) FROM row) AS last'
const ALL: Range = { from: 0, to: Number.MAX_SAFE_INTEGER / ROWS_PER_MS }
/** A recorder writes every five seconds, even if nothing happens; a transaction may wait for a checkpoint. */
const SILENT_MS = 20_000
/** Texts that a reader caches for scans. */
const MAX_TEXTS = 100_000
/** More objects of a kind are read in one pass. */
const MOST_ONE_BY_ONE = 100

export class HistoryReader {
  readonly cluster: string
  readonly #db: DatabaseSync
  readonly #topics = new Map<number, string>()
  readonly #values = new Map<number, string>()
  readonly #subjects = new Map<number, Subject>()

  constructor(folder: string, cluster: string) {
    this.cluster = cluster
    this.#db = openForReading(folder, cluster)
  }

  close(): void {
    this.#db.close()
  }

  /** Its first and last time; undefined while it is empty. */
  span(): Span | undefined {
    const found = this.#db.prepare(FIRST_AND_LAST).get()
    if (found === undefined || found['first'] === null) return undefined
    const begins = this.#number('begins')
    const alive = this.#number(ALIVE)
    const last = Math.floor(Number(found['last']) / ROWS_PER_MS)
    return {
      begins: begins ?? Math.floor(Number(found['first']) / ROWS_PER_MS),
      ends: Math.max(alive ?? 0, last) + 1,
    }
  }

  /** Counts them, which takes longer than any other question. */
  rowCount(): number {
    return Number(this.#db.prepare('SELECT count(*) AS n FROM row').get()?.['n'])
  }

  /** All objects of a kind, or all that ever had the given name, newest last. */
  subjects(kind: string, name?: string): readonly Subject[] {
    const query = name === undefined ? 'kind = ? ORDER BY name, id' : 'kind = ? AND name = ? ORDER BY id'
    return this.#db
      .prepare(`SELECT * FROM subject WHERE ${query}`)
      .all(...(name === undefined ? [kind] : [kind, name]))
      .map(subjectFrom)
  }

  /** The objects of a kind of which something was recorded in a time. */
  subjectsIn(kind: string, { from, to }: Range): readonly Subject[] {
    return this.#db
      .prepare(
        'SELECT * FROM subject WHERE kind = ? AND id IN (SELECT subject FROM row WHERE id >= ? AND id < ?) ORDER BY name, id',
      )
      .all(kind, from * ROWS_PER_MS, to * ROWS_PER_MS)
      .map(subjectFrom)
  }

  /** The rows of an object in the order of observation. */
  rowsOf(subject: Subject, { from, to }: Range = ALL): readonly Transition[] {
    return this.#db
      .prepare('SELECT id, subject, topic, value, age FROM row WHERE subject = ? AND id >= ? AND id < ? ORDER BY id')
      .all(subject.id, from * ROWS_PER_MS, to * ROWS_PER_MS)
      .map((row) => this.#transition(row))
  }

  /** All rows in the order of observation, in constant memory. */
  *rows({ from, to }: Range = ALL): Generator<Transition> {
    const rows = this.#db.prepare('SELECT id, subject, topic, value, age FROM row WHERE id >= ? AND id < ? ORDER BY id')
    for (const row of rows.iterate(from * ROWS_PER_MS, to * ROWS_PER_MS)) yield this.#transition(row)
  }

  /** The rows of a kind in the order of observation, in constant memory. The plus keeps SQLite from reading all days of each object by its index. */
  *rowsOfKind(kind: string, { from, to }: Range): Generator<Transition> {
    const rows = this.#db.prepare(
      `SELECT id, subject, topic, value, age FROM row
       WHERE id >= ? AND id < ? AND +subject IN (SELECT id FROM subject WHERE kind = ?) ORDER BY id`,
    )
    for (const row of rows.iterate(from * ROWS_PER_MS, to * ROWS_PER_MS, kind)) yield this.#transition(row)
  }

  /** An object at a moment: the last observed value of each fact. */
  stateOf(subject: Subject, at: number): readonly Fact[] {
    const rows = this.#db.prepare('SELECT id, topic, value, age FROM row WHERE subject = ? AND id < ? ORDER BY id')
    const last = new Map<number, Readonly<Record<string, unknown>>>()
    for (const row of rows.iterate(subject.id, (at + 1) * ROWS_PER_MS)) last.set(Number(row['topic']), row)
    return [...last.values()].flatMap((row) => this.#known(row))
  }

  /** All objects of a kind that existed at a moment. */
  *statesAt(kind: string, at: number): Generator<{ readonly subject: Subject; readonly facts: readonly Fact[] }> {
    const subjects = this.subjects(kind)
    if (subjects.length > MOST_ONE_BY_ONE) {
      yield* this.#allStatesAt(kind, at)
      return
    }
    for (const subject of subjects) {
      const facts = this.stateOf(subject, at)
      if (facts.length > 0) yield { subject, facts }
    }
  }

  /** In one pass over the rows: object by object each page of the file would be read hundreds of times. */
  *#allStatesAt(kind: string, at: number): ReturnType<HistoryReader['statesAt']> {
    // Beside max(), the other columns are those of the row that has it. The plus keeps SQLite from reading each object by its index.
    const last = this.#db.prepare(`SELECT subject, topic, value, age, max(id) AS id FROM row
      WHERE id < ? AND +subject IN (SELECT id FROM subject WHERE kind = ?) GROUP BY subject, topic ORDER BY subject`)
    let current: { readonly subject: Subject; readonly facts: Fact[] } | undefined
    for (const row of last.iterate((at + 1) * ROWS_PER_MS, kind)) {
      const id = Number(row['subject'])
      if (current?.subject.id !== id) {
        if (current !== undefined && current.facts.length > 0) yield current
        current = { subject: this.#subject(id), facts: [] }
      }
      current.facts.push(...this.#known(row))
    }
    if (current !== undefined && current.facts.length > 0) yield current
  }

  /** The last row of each fact before a moment, for a replay that starts there. Ordered by the number of the object. */
  *stateBefore(at: number): Generator<Transition> {
    for (const { id } of this.#db.prepare('SELECT id FROM subject ORDER BY id').all()) {
      const subject = this.#subject(Number(id))
      for (const { topic, value, reported } of this.stateOf(subject, at - 1))
        yield { observed: at, reported, subject, topic, value }
    }
  }

  /** Periods in which some kind or object was not recorded. */
  gaps({ from, to }: Range = ALL): readonly RecordedGap[] {
    return this.#db
      .prepare('SELECT * FROM gap WHERE starts < ? AND (ends IS NULL OR ends > ?) ORDER BY starts, id')
      .all(to, from)
      .map((g) => ({
        starts: Number(g['starts']),
        ends: g['ends'] === null ? undefined : Number(g['ends']),
        why: String(g['why']) as GapReason,
        kind: g['kind'] === null ? undefined : String(g['kind']),
        subject: g['subject'] === null ? undefined : this.#subject(Number(g['subject'])),
        details: g['details'] === null ? undefined : String(g['details']),
      }))
  }

  /**
   * A recorder that ended without a word leaves no gap until the next one starts. This one is computed: since when nothing was written although a recorder
   * would have. Undefined while one runs, and for an import.
   */
  silentSince(now: number): number | undefined {
    const alive = this.#number(ALIVE)
    return alive === undefined || this.#number(IMPORTED) !== undefined || now - alive <= SILENT_MS ? undefined : alive
  }

  /** The same as `gaps`, and the computed one. */
  gapsUntil(now: number, range: Range = ALL): readonly RecordedGap[] {
    const since = this.silentSince(now)
    const gaps = this.gaps(range)
    if (since === undefined || range.from >= now || range.to <= since) return gaps
    const silent = { starts: since, ends: undefined, why: 'NotWritten' } as const
    return [...gaps, { ...silent, kind: undefined, subject: undefined, details: undefined }]
  }

  /** Who did what, in order. */
  *deeds({ from, to }: Range = ALL): Generator<DeedLine> {
    for (const row of this.#db
      .prepare('SELECT line FROM deed WHERE observed >= ? AND observed < ? ORDER BY n')
      .iterate(from, to))
      yield JSON.parse(String(row['line'])) as DeedLine
  }

  /** Lines of who did what about objects of these names, in order. */
  deedsAbout(names: Iterable<string>, { from, to }: Range = ALL): readonly DeedLine[] {
    const about = this.#db.prepare(
      'SELECT d.n, d.line FROM deed_name l JOIN deed d ON d.n = l.n WHERE l.name = ? AND d.observed >= ? AND d.observed < ?',
    )
    const lines = new Map<number, DeedLine>()
    for (const name of names)
      for (const { n, line } of about.iterate(name, from, to))
        lines.set(Number(n), JSON.parse(String(line)) as DeedLine)
    return [...lines.values()].toSorted((a, b) => a.n - b.n)
  }

  /** Dropped days and their sums. */
  days(): readonly { readonly day: string; readonly sums: Readonly<Record<string, number>> }[] {
    return this.#db
      .prepare('SELECT day, sums FROM day ORDER BY day')
      .all()
      .map((r) => ({ day: String(r['day']), sums: JSON.parse(String(r['sums'])) as Readonly<Record<string, number>> }))
  }

  /** Objects of a kind that are for another one: repairs and permits of a node, jobs of a rule. */
  linkedTo(kind: string, name: string): readonly Subject[] {
    return this.#db
      .prepare(
        'SELECT s.* FROM link l JOIN subject s ON s.id = l.subject WHERE l.name = ? AND s.kind = ? ORDER BY s.id',
      )
      .all(name, kind)
      .map(subjectFrom)
  }

  #number(name: string): number | undefined {
    const value = this.#db.prepare('SELECT value FROM fact WHERE name = ?').get(name)?.['value']
    return value === undefined ? undefined : Number(value)
  }

  #known(row: Readonly<Record<string, unknown>>): readonly Fact[] {
    if (row['value'] === null) return []
    return [
      { topic: this.#topic(Number(row['topic'])), value: this.#value(Number(row['value'])), reported: reportedOf(row) },
    ]
  }

  #transition(row: Readonly<Record<string, unknown>>): Transition {
    return {
      observed: Math.floor(Number(row['id']) / ROWS_PER_MS),
      reported: reportedOf(row),
      subject: this.#subject(Number(row['subject'])),
      topic: this.#topic(Number(row['topic'])),
      value: row['value'] === null ? undefined : this.#value(Number(row['value'])),
    }
  }

  #topic(id: number): string {
    return this.#text({ known: this.#topics, query: 'SELECT path AS text FROM topic WHERE id = ?', id })
  }

  #value(id: number): string {
    return this.#text({ known: this.#values, query: 'SELECT json AS text FROM value WHERE id = ?', id })
  }

  #text({
    known,
    query,
    id,
  }: {
    readonly known: Map<number, string>
    readonly query: string
    readonly id: number
  }): string {
    const before = known.get(id)
    if (before !== undefined) return before
    const text = String(this.#db.prepare(query).get(id)?.['text'] ?? 'null')
    if (known.size >= MAX_TEXTS) known.clear()
    known.set(id, text)
    return text
  }

  #subject(id: number): Subject {
    const known = this.#subjects.get(id)
    if (known !== undefined) return known
    const row = this.#db.prepare('SELECT * FROM subject WHERE id = ?').get(id)
    const subject = row === undefined ? { id, kind: '', namespace: '', name: '', uid: '' } : subjectFrom(row)
    if (this.#subjects.size >= MAX_TEXTS) this.#subjects.clear()
    this.#subjects.set(id, subject)
    return subject
  }
}

/** The source's time, in whole seconds. */
function reportedOf(row: Readonly<Record<string, unknown>>): number | undefined {
  if (row['age'] === null) return undefined
  const observed = Math.floor(Number(row['id']) / ROWS_PER_MS)
  return Math.round((observed - Number(row['age']) * 1_000) / 1_000) * 1_000
}
