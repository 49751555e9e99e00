// Checks a file of objects, or a backup of one, and reports every problem in it; changes nothing, also while a server runs.
import { isKubeNodeError, messageOf } from '#lib/errors.ts'
import { isObject } from '#lib/json.ts'
import type { DatabaseSync } from 'node:sqlite'
import { formatOf, keptOf, openForReading, revisionOf, shownRow } from './data-file.ts'
import type { Kept } from './port.ts'
import { markedRevision } from './revision-mark.ts'
import { apiserverErrors } from '../apiserver-errors.ts'

export interface DataReport {
  readonly format: number
  readonly revision: number
  readonly objects: number
  /** Objects of each resource, by name of the resource. */
  readonly counts: readonly (readonly [resource: string, count: number])[]
  /** Nothing here: the data is sound. */
  readonly problems: readonly string[]
}

/** More would only hide the first. */
const MOST_PROBLEMS = 20
/** What is damage, not a reason to look elsewhere. */
const DAMAGE: ReadonlySet<string> = new Set([apiserverErrors.KN6102.code, apiserverErrors.KN6108.code])

export function checkData(file: string): DataReport {
  let db: DatabaseSync
  try {
    db = openForReading(file)
  } catch (e) {
    if (!isKubeNodeError(e) || !DAMAGE.has(e.code)) throw e
    return { format: 0, revision: 0, objects: 0, counts: [], problems: [messageOf(e)] }
  }
  try {
    // a running server moves both on: read before, the mark cannot exceed the revision
    const marked = attempted(() => markedRevision(file))
    // one snapshot for all that follows
    db.exec('BEGIN')
    return reportOf(db, file, marked)
  } finally {
    db.close()
  }
}

/** What was found, or what is wrong with it. */
const attempted = <T>(look: () => T): T | { readonly problem: string } => {
  try {
    return look()
  } catch (e) {
    return { problem: messageOf(e) }
  }
}

function reportOf(db: DatabaseSync, file: string, marked: number | { readonly problem: string }): DataReport {
  const problems: string[] = []
  const add = (problem: string) => {
    if (problems.length < MOST_PROBLEMS) problems.push(problem)
    else if (problems.length === MOST_PROBLEMS) problems.push('and more')
  }
  const attempt = <T>(fallback: T, look: () => T): T => {
    try {
      return look()
    } catch (e) {
      add(messageOf(e))
      return fallback
    }
  }
  attempt(undefined, () => {
    for (const row of db.prepare(`PRAGMA integrity_check(${MOST_PROBLEMS})`).iterate())
      if (row['integrity_check'] !== 'ok') add(String(row['integrity_check']))
  })
  const revision = attempt(0, () => revisionOf(db))
  const counts = new Map<string, number>()
  attempt(undefined, () => {
    for (const row of db.prepare('SELECT * FROM object').iterate()) {
      const kept = keptOf(row)
      if (kept === undefined) add(`the check sum of ${shownRow(row)} is wrong`)
      else {
        counts.set(kept.resource, (counts.get(kept.resource) ?? 0) + 1)
        const wrong = wrongAbout(kept, revision)
        if (wrong !== undefined) add(`${shownRow(row)} ${wrong}`)
      }
    }
  })
  if (typeof marked !== 'number') add(marked.problem)
  else if (marked > revision)
    add(`it ends at revision ${revision}, but ${marked} was acknowledged: the newest writes are missing`)
  return {
    format: attempt(0, () => formatOf(db, file)),
    revision,
    objects: [...counts.values()].reduce((a, b) => a + b, 0),
    counts: [...counts].toSorted(([a], [b]) => (a < b ? -1 : 1)),
    problems,
  }
}

function wrongAbout({ bytes, revision, name }: Kept, highest: number): string | undefined {
  if (revision > highest) return `has revision ${revision}, beyond the highest one, ${highest}`
  try {
    const value: unknown = JSON.parse(bytes.toString('utf8'))
    const metadata = isObject(value) && isObject(value['metadata']) ? value['metadata'] : {}
    return metadata['name'] === name && metadata['resourceVersion'] === String(revision)
      ? undefined
      : 'holds an object of another name or revision'
  } catch {
    return 'holds no JSON'
  }
}
