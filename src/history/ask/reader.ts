// Reads a history: facts by object and time, gaps, and deeds. Decides nothing.
import type { DatabaseSync } from 'node:sqlite'
import type { DeedLine } from '../deeds/chain.ts'
import type { Fact } from '../facts/facts.ts'
import { KubeNodeError } from '#lib/errors.ts'
import type { Steps } from '#lib/steps.ts'
import { historyErrors } from '../history-errors.ts'
import { ALIVE, IMPORTED, ROWS_PER_MS } from '../store/layout.ts'
import { PAGE_ROWS, type RawRow, newestOfOne, pagesBefore, pagesOf, rowsOfOne } from './pages.ts'
import { openForReading } from '../store/file.ts'
import { KnownTexts } from '../store/known-texts.ts'
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
/** Lines of who did what that are read together. */
const PAGE_DEEDS = 500
/** More than anyone reads about one object. */
const MOST_DEEDS_OF_NAME = 2_000
/** Each has some twenty facts. */
const STATES_OF_PAGE = 50
/** Facts that a kind had until a moment, of all its objects: a hundred thousand Nodes. A recorded cluster may fill its file with others. */
const MOST_FACTS = 4_000_000
/** A number of an object and one of a topic make one exact number. */
const MAX_TOPICS = 2 ** 20

export interface SubjectState {
  readonly subject: Subject
  readonly facts: readonly Fact[]
}

export class HistoryReader {
  readonly cluster: string
  readonly #db: DatabaseSync
  readonly #topics = new KnownTexts<number, string>(MAX_TEXTS)
  readonly #values = new KnownTexts<number, string>(MAX_TEXTS)
  readonly #subjects = new Map<number, Subject>()
  readonly #mostFacts: number

  constructor(folder: string, cluster: string, mostFacts = MOST_FACTS) {
    this.cluster = cluster
    this.#mostFacts = mostFacts
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

  /** The rows of an object in the order of observation. */
  rowsOf(subject: Subject, { from, to }: Range = ALL): readonly Transition[] {
    return rowsOfOne(this.#db, subject.id, from * ROWS_PER_MS, to * ROWS_PER_MS).map((row) => this.#transition(row))
  }

  /** The newest ones before a moment. */
  newestRowsOf(subject: Subject, to: number, most: number): readonly Transition[] {
    return newestOfOne(this.#db, subject.id, to * ROWS_PER_MS, most).map((row) => this.#transition(row))
  }

  rowCountOf({ id }: Subject, to: number): number {
    const query = this.#db.prepare('SELECT count(*) AS n FROM row WHERE subject = ? AND id < ?')
    return Number(query.get(id, to * ROWS_PER_MS)?.['n'])
  }

  /** The newest values that one fact of an object had. */
  valuesOf({ id }: Subject, topic: string, most: number): readonly string[] {
    return this.#db
      .prepare(
        `SELECT v.json FROM row r JOIN topic t ON t.id = r.topic JOIN value v ON v.id = r.value WHERE r.subject = ? AND t.path = ?
         ORDER BY r.id DESC LIMIT ?`,
      )
      .all(id, topic, most)
      .map(({ json }) => String(json))
      .toReversed()
  }

  /** All rows in the order of observation, in constant memory. */
  *rows({ from, to }: Range = ALL): Generator<Transition> {
    for (const page of pagesOf(this.#db, from * ROWS_PER_MS, to * ROWS_PER_MS))
      for (const row of page) yield this.#transition(row)
  }

  /** Those of some kinds. A page may be empty; the next one is a few milliseconds of work. */
  *rowPages(kinds: readonly string[], { from, to }: Range): Generator<readonly Transition[]> {
    const own = new Set<number>()
    for (const kind of kinds) for (const page of this.#subjectPages(kind)) for (const { id } of page) own.add(id)
    for (const page of pagesOf(this.#db, from * ROWS_PER_MS, to * ROWS_PER_MS))
      yield page.filter(([, subject]) => own.has(subject)).map((row) => this.#transition(row))
  }

  /** An object at a moment: the last observed value of each fact. */
  stateOf(subject: Subject, at: number): readonly Fact[] {
    const last = new Map<number, RawRow>()
    for (const row of rowsOfOne(this.#db, subject.id, 0, (at + 1) * ROWS_PER_MS)) last.set(row[2], row)
    return [...last.values()].flatMap((row) => this.#known(row))
  }

  /** All objects of a kind that existed at a moment. */
  *statesAt(kind: string, at: number): Generator<SubjectState> {
    for (const page of this.statePagesAt(kind, at)) yield* page
  }

  /** The same, with a few milliseconds of work for each page; a page may be empty. */
  *statePagesAt(kind: string, at: number): Generator<readonly SubjectState[]> {
    const subjects: Subject[] = []
    for (const page of this.#subjectPages(kind)) {
      subjects.push(...page)
      this.#checkCount(kind, subjects.length)
      yield []
    }
    const isFew = subjects.length <= MOST_ONE_BY_ONE
    const found = isFew ? undefined : yield* this.#lastRows(kind, new Set(subjects.map(({ id }) => id)), at)
    for (let n = 0; n < subjects.length; n += STATES_OF_PAGE)
      yield subjects.slice(n, n + STATES_OF_PAGE).flatMap((subject) => {
        const facts =
          found === undefined
            ? this.stateOf(subject, at)
            : (found.get(subject.id) ?? []).flatMap((row) => this.#known(row))
        return facts.length === 0 ? [] : [{ subject, facts }]
      })
  }

  /** In one pass over the rows, the newest first: object by object each page of the file would be read hundreds of times. */
  *#lastRows(
    kind: string,
    own: ReadonlySet<number>,
    at: number,
  ): Generator<readonly never[], ReadonlyMap<number, readonly RawRow[]>> {
    const seen = new Set<number>()
    const last = new Map<number, RawRow[]>()
    for (const page of pagesBefore(this.#db, (at + 1) * ROWS_PER_MS)) {
      for (const row of page) {
        const [, subject, topic] = row
        const key = subject * MAX_TOPICS + topic
        if (!own.has(subject) || seen.has(key)) continue
        seen.add(key)
        if (row[3] === null) continue
        const rows = last.get(subject)
        if (rows === undefined) last.set(subject, [row])
        else rows.push(row)
      }
      this.#checkCount(kind, seen.size)
      yield []
    }
    return last
  }

  #checkCount(kind: string, facts: number): void {
    const most = this.#mostFacts
    if (facts > most)
      throw new KubeNodeError(historyErrors.KN17004_most({ cluster: this.cluster, kind, most, of: 'facts' }))
  }

  *#subjectPages(kind: string): Generator<readonly Subject[]> {
    const next = this.#db.prepare(
      `SELECT * FROM subject WHERE kind = ? AND (name, id) > (?, ?) ORDER BY name, id LIMIT ${PAGE_ROWS}`,
    )
    for (let last = { name: '', id: 0 }; ;) {
      const page = next.all(kind, last.name, last.id).map(subjectFrom)
      yield page
      const end = page.at(-1)
      if (end === undefined || page.length < PAGE_ROWS) return
      last = end
    }
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
    const next = this.#db.prepare(`SELECT n, line FROM deed WHERE n >= ? ORDER BY n LIMIT ${PAGE_DEEDS}`)
    for (let at = this.#firstDeed(from); ;) {
      const page = next.all(at)
      for (const { line } of page) {
        const deed = JSON.parse(String(line)) as DeedLine
        if (deed.observed >= to) return
        yield deed
      }
      const last = page.at(-1)
      if (last === undefined || page.length < PAGE_DEEDS) return
      at = Number(last['n']) + 1
    }
  }

  /** The newest lines of who did what in a time, in order. */
  *newestDeeds({ from, to }: Range, most: number): Steps<readonly DeedLine[]> {
    const end = this.#firstDeed(to)
    const out: DeedLine[] = []
    for (const line of this.deeds({ from: Math.max(from, this.#observedOf(end - most)), to })) {
      out.push(line)
      if (out.length % PAGE_DEEDS === 0) yield
    }
    return out.slice(-most)
  }

  /** The number of the first line at or after a time. Times never go back from line to line, so it is found by halving. */
  #firstDeed(at: number): number {
    const span = this.#db.prepare('SELECT (SELECT min(n) FROM deed) AS low, (SELECT max(n) FROM deed) AS high').get()
    if (span === undefined || span['low'] === null) return 0
    let [low, high] = [Number(span['low']), Number(span['high']) + 1]
    while (low < high) {
      const middle = Math.floor((low + high) / 2)
      if (this.#observedOf(middle) < at) low = middle + 1
      else high = middle
    }
    return low
  }

  /** Of the first line from a number on; lines may be missing in an import. */
  #observedOf(n: number): number {
    const found = this.#db.prepare('SELECT observed FROM deed WHERE n >= ? ORDER BY n LIMIT 1').get(n)
    return found === undefined ? Infinity : Number(found['observed'])
  }

  /** The newest lines of who did what about objects of each of these names, in order. */
  deedsAbout(names: Iterable<string>, { from, to }: Range = ALL): readonly DeedLine[] {
    const about = this.#db.prepare(
      `SELECT d.n, d.line FROM deed_name l JOIN deed d ON d.n = l.n WHERE l.name = ? AND d.observed >= ? AND d.observed < ?
       ORDER BY l.n DESC LIMIT ${MOST_DEEDS_OF_NAME}`,
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

  /** The newest objects of a kind that are for another one: repairs and permits of a node, jobs of a rule. */
  linkedTo(kind: string, name: string, most: number): readonly Subject[] {
    return this.#db
      .prepare(
        'SELECT s.* FROM link l JOIN subject s ON s.id = l.subject WHERE l.name = ? AND s.kind = ? ORDER BY s.id DESC LIMIT ?',
      )
      .all(name, kind, most)
      .map(subjectFrom)
      .toReversed()
  }

  #number(name: string): number | undefined {
    const value = this.#db.prepare('SELECT value FROM fact WHERE name = ?').get(name)?.['value']
    return value === undefined ? undefined : Number(value)
  }

  #known([id, , topic, value, age]: RawRow): readonly Fact[] {
    if (value === null) return []
    return [{ topic: this.#topic(topic), value: this.#value(value), reported: reportedOf(id, age) }]
  }

  #transition([id, subject, topic, value, age]: RawRow): Transition {
    return {
      observed: Math.floor(id / ROWS_PER_MS),
      reported: reportedOf(id, age),
      subject: this.#subject(subject),
      topic: this.#topic(topic),
      value: value === null ? undefined : this.#value(value),
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
    readonly known: KnownTexts<number, string>
    readonly query: string
    readonly id: number
  }): string {
    const before = known.get(id)
    if (before !== undefined) return before
    const text = String(this.#db.prepare(query).get(id)?.['text'] ?? 'null')
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
const reportedOf = (id: number, age: number | null): number | undefined =>
  age === null ? undefined : Math.round((Math.floor(id / ROWS_PER_MS) - age * 1_000) / 1_000) * 1_000
