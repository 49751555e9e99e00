// The format of recorded cases, and the parser of their files: what is sent, and which parts of the answer are recorded.
import { readdirSync, readFileSync } from 'node:fs'

export interface Step {
  /** Method and path, or `watch` and a path, or a pause. */
  readonly m?: string
  readonly p?: string
  readonly watch?: string
  readonly sleep?: number
  readonly b?: unknown
  readonly raw?: string
  readonly h?: Readonly<Record<string, string | null>>
  readonly as?: string
  readonly groups?: readonly string[]
  readonly anon?: boolean
  readonly token?: string
  /** Values kept for later steps, by path in the answer. */
  readonly save?: Readonly<Record<string, string>>
  /** Repeat until this status. */
  readonly until?: number
  /** A preparation: not held on record. */
  readonly hide?: boolean
  /** Paths on record; the whole body when absent. */
  readonly only?: readonly string[]
  /** managedFields are on record. */
  readonly mf?: boolean
  /** Of a watch: events to wait for, paths of each event on record, requests meanwhile. */
  readonly n?: number | null
  readonly ms?: number
  readonly short?: readonly string[]
  readonly bookmarks?: boolean
  readonly end?: boolean
  readonly during?: readonly Step[]
}

export interface RecordedCase {
  readonly topic: string
  readonly name: string
  /** How closely messages are compared. */
  readonly message?: 'exact'
  readonly steps: readonly Step[]
}

/** One answer on record. */
export type Recording = Readonly<Record<string, unknown>>

interface TopicFile {
  readonly topic: string
  readonly cases: readonly Omit<RecordedCase, 'topic'>[]
}

const FOLDER = new URL('../recorded/', import.meta.url)
const readJson = (path: string): unknown => JSON.parse(readFileSync(new URL(path, FOLDER), 'utf8'))

export function recordedCases(): readonly RecordedCase[] {
  const files = readdirSync(new URL('cases/', FOLDER)).filter((f) => f.endsWith('.json'))
  return files.toSorted().flatMap((f) => {
    const { topic, cases } = readJson(`cases/${f}`) as TopicFile
    return cases.map((c) => ({ ...c, topic }))
  })
}

export const caseId = (c: RecordedCase): string => `${c.topic}/${c.name}`

export const recordings = (): Readonly<Record<string, readonly Recording[] | undefined>> =>
  (readJson('golden-1.36.json') as { readonly cases: Readonly<Record<string, readonly Recording[]>> }).cases
