// Reads any object for its explanation, also one written by a later version: what is missing or of another type is empty. Pure.
import type { Release } from '#api/kinds/release.ts'
import { shortWord } from '#api/nouns.ts'
import type { KubeObject } from '#api/schema/object.ts'
import { fieldsOf } from '#lib/fields.ts'
import type { Finding } from './finding.ts'
import { sinceText, waitFindings } from './wait.ts'

export type Fields = Readonly<Record<string, unknown>>

export const text = (v: unknown): string =>
  typeof v === 'string' ? v : typeof v === 'number' || typeof v === 'boolean' ? String(v) : ''

export const since = (stamp: unknown, now: number): string => sinceText(text(stamp), now)

export interface Moment {
  readonly now: number
  /** Ends this object's hold; absent if no hold on the object itself is known. */
  readonly holdEnds?: Pick<Finding, 'command'>
  /** Used for the titles of commits. */
  readonly releases?: readonly Release[]
}

/** The object as users type it. */
export const wordOf = ({ kind, metadata }: KubeObject): string =>
  shortWord(`${kind.toLowerCase()}/${metadata.name ?? ''}`)

export function waitOf(waiting: unknown, moment: Moment, word: string, part?: string): readonly Finding[] {
  const w = fieldsOf(waiting)
  const wait = {
    predicate: text(w['predicate']),
    since: text(w['since']),
    seen: text(w['seen']),
    unblock: text(w['unblock']),
  }
  return waitFindings(wait, moment, word, part)
}
