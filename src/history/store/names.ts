// Assigns numbers to topics, values and subjects, so that each text is stored once. New ones are pending until their batch is durable.
import type { DatabaseSync, StatementSync } from 'node:sqlite'
import { MIB } from '#lib/bytes.ts'
import { sha256 } from '#lib/sha256.ts'
import { isDeclaredField } from '../deeds/changed-fields.ts'
import { KnownTexts } from './known-texts.ts'

/** Texts kept in memory; others are looked up in the file by their hash. */
const MAX_KNOWN_VALUES = 60_000
const HASH_BYTES = 16
/** Topics are never deleted, and all of them are in memory. A large cluster has some thousand; a node chooses the names of its labels. */
const MOST_TOPICS = 2 ** 18
const MOST_TOPIC_CHARS = 32 * MIB

export interface Subject {
  readonly id: number
  readonly kind: string
  readonly namespace: string
  readonly name: string
  readonly uid: string
}

export class Names {
  readonly #topics = new Map<string, number>()
  /** Topics of fields that people change. */
  readonly #declared = new Map<number, string>()
  readonly #values = new KnownTexts<string, number>(MAX_KNOWN_VALUES)
  readonly #subjects = new Map<string, Subject>()
  readonly #newTopics: [number, string][] = []
  readonly #newValues = new Map<string, number>()
  readonly #newTexts = new Map<number, string>()
  readonly #newSubjects: Subject[] = []
  readonly #findValue: StatementSync
  readonly #db: DatabaseSync
  #nextTopic: number
  #topicChars = 0
  readonly #mostTopics: number
  #nextValue: number
  #nextSubject: number

  constructor(db: DatabaseSync, mostTopics = MOST_TOPICS) {
    this.#mostTopics = mostTopics
    this.#db = db
    for (const { id, path } of db.prepare('SELECT id, path FROM topic').iterate())
      this.#rememberTopic(String(path), Number(id))
    for (const row of db.prepare('SELECT * FROM subject WHERE id IN (SELECT DISTINCT subject FROM open)').iterate()) {
      const subject = subjectFrom(row)
      this.#subjects.set(keyOf(subject), subject)
    }
    this.#findValue = db.prepare('SELECT id FROM value WHERE hash = ?')
    const next = (table: string) =>
      Number(db.prepare(`SELECT coalesce(max(id), 0) + 1 AS id FROM ${table}`).get()?.['id'])
    this.#nextTopic = next('topic')
    this.#nextValue = next('value')
    this.#nextSubject = next('subject')
  }

  /** Undefined if there are too many: what has a new one is not recorded. */
  topic(path: string): number | undefined {
    const known = this.#topics.get(path)
    if (known !== undefined) return known
    if (this.#topics.size >= this.#mostTopics || this.#topicChars + path.length > MOST_TOPIC_CHARS) return undefined
    const id = this.#nextTopic++
    this.#rememberTopic(path, id)
    this.#newTopics.push([id, path])
    return id
  }

  #rememberTopic(path: string, id: number): void {
    this.#topics.set(path, id)
    this.#topicChars += path.length
    if (isDeclaredField(path)) this.#declared.set(id, path)
  }

  /** The path of a topic that people change; undefined for all others. */
  declaredPath(topic: number): string | undefined {
    return this.#declared.get(topic)
  }

  /** The text of a value, also of one that is not durable yet. */
  valueText(id: number): string {
    const text = this.#newTexts.get(id)
    if (text !== undefined) return text
    return String(this.#db.prepare('SELECT json AS text FROM value WHERE id = ?').get(id)?.['text'] ?? 'null')
  }

  /** Undefined if no row has it yet. */
  topicKnown(path: string): number | undefined {
    return this.#topics.get(path)
  }

  value(json: string): number {
    const known = this.#values.get(json) ?? this.#newValues.get(json)
    if (known !== undefined) return known
    const found = this.#findValue.get(hashOf(json))?.['id']
    const id = found === undefined ? this.#nextValue++ : Number(found)
    if (found !== undefined) this.#values.set(json, id)
    else {
      this.#newValues.set(json, id)
      this.#newTexts.set(id, json)
    }
    return id
  }

  subject(of: Omit<Subject, 'id'>): number {
    const key = keyOf(of)
    const known = this.#subjects.get(key)
    if (known !== undefined) return known.id
    const found = this.#db.prepare('SELECT id FROM subject WHERE kind = ? AND uid = ?').get(of.kind, of.uid)?.['id']
    const subject = { ...of, id: found === undefined ? this.#nextSubject++ : Number(found) }
    this.#subjects.set(key, subject)
    if (found === undefined) this.#newSubjects.push(subject)
    return subject.id
  }

  /** Called when its object was deleted. */
  forget(of: Pick<Subject, 'kind' | 'uid'>): void {
    this.#subjects.delete(keyOf(of))
  }

  /** Call inside the transaction of the batch that uses them. */
  write(): void {
    const topic = this.#db.prepare('INSERT INTO topic VALUES (?, ?)')
    for (const [id, path] of this.#newTopics) topic.run(id, path)
    const value = this.#db.prepare('INSERT INTO value VALUES (?, 0, ?, ?)')
    for (const [json, id] of this.#newValues) value.run(id, hashOf(json), json)
    const subject = this.#db.prepare('INSERT INTO subject VALUES (?, ?, ?, ?, ?)')
    for (const { id, kind, namespace, name, uid } of this.#newSubjects) subject.run(id, kind, namespace, name, uid)
  }

  /** Call once the transaction is durable. Until then each attempt writes them again. */
  written(): void {
    this.#newTopics.length = 0
    this.#newSubjects.length = 0
    for (const [json, id] of this.#newValues) this.#values.set(json, id)
    this.#newValues.clear()
    this.#newTexts.clear()
  }

  /** Call after unused values were deleted from the file. */
  forgetValues(): void {
    this.#values.clear()
  }
}

const keyOf = ({ kind, uid }: Pick<Subject, 'kind' | 'uid'>): string => `${kind}/${uid}`
const hashOf = (json: string): Uint8Array => sha256(json).subarray(0, HASH_BYTES)

export const subjectFrom = (row: Readonly<Record<string, unknown>>): Subject => ({
  id: Number(row['id']),
  kind: String(row['kind']),
  namespace: String(row['namespace']),
  name: String(row['name']),
  uid: String(row['uid']),
})
