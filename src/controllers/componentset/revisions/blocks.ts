// Failures with their evidence, kept on the failed revision: for people, and for a set that lost its status.
import { ANNOTATIONS } from '#api/names.ts'
import { isObject } from '#lib/json.ts'
import { timestamp } from '#lib/clock.ts'
import type { SetAction } from '../actions.ts'
import { MARKS, type Survey } from '../members/candidates.ts'
import type { Reading } from '../members/reading.ts'
import type { ControllerRevision } from './revisions.ts'
import type { Blocked, Seen } from '../seen.ts'

/** Machines listed by name. The rest show it in their own statuses. */
const MOST_NAMED = 10
/** One revision fails a few times at most before a user commits another. */
const MOST_KEPT = 32
const MOST_CHARS = 200

interface Evidence {
  readonly component: string
  readonly since: string
  readonly reason: string
  /** Reports of the first failed machines. */
  readonly machines: readonly string[]
  /** When it stopped blocking. */
  readonly liftedAt?: string
}

function evidenceOf({ metadata }: ControllerRevision): readonly Evidence[] {
  const text = metadata.annotations?.[ANNOTATIONS.blocked]
  if (text === undefined) return []
  try {
    const entries: unknown = JSON.parse(text)
    return Array.isArray(entries) ? entries.filter(isEvidence) : []
  } catch {
    // Not written by our programs. The next record overwrites it.
    return []
  }
}

const isEvidence = (entry: unknown): entry is Evidence =>
  isObject(entry) &&
  typeof entry['component'] === 'string' &&
  typeof entry['since'] === 'string' &&
  typeof entry['reason'] === 'string' &&
  Array.isArray(entry['machines'])

/** Whether one of these components failed at this time or later, also if it was retried since. */
export const hasFailedSince = (revision: ControllerRevision, components: readonly string[], since: number): boolean =>
  evidenceOf(revision).some((e) => components.includes(e.component) && Date.parse(e.since) >= since)

/** Read from the status. A set that lost its status finds the blocks on its revisions. */
export function blocksSeen({ set }: Seen, revisions: readonly ControllerRevision[]): readonly Blocked[] {
  if (set.status?.revisions !== undefined) return set.status.revisions.blocked ?? []
  return revisions.flatMap((r) =>
    evidenceOf(r)
      .filter((e) => e.liftedAt === undefined)
      .map(({ component, since, reason }) => ({ revision: r.metadata.name ?? '', component, since, reason })),
  )
}

export interface BlockedNow {
  readonly blocks: readonly Blocked[]
  readonly surveys: readonly Survey[]
  readonly members: readonly Reading[]
  readonly now: number
}

/** Updates the records on the revisions to match the current blocks. */
export function keptEvidence(revisions: readonly ControllerRevision[], found: BlockedNow): readonly SetAction[] {
  return revisions.flatMap((revision) => {
    if (revision.metadata.uid === undefined) return []
    const before = evidenceOf(revision)
    const after = evidenceNow(revision, before, found)
    if (after === undefined) return []
    const reason = after.some((e) => e.liftedAt === undefined) ? 'it failed' : 'the block no longer applies'
    return [{ kind: 'KeepEvidence' as const, reason, revision, evidence: JSON.stringify(after) }]
  })
}

function evidenceNow(
  { metadata }: ControllerRevision,
  before: readonly Evidence[],
  found: BlockedNow,
): readonly Evidence[] | undefined {
  const mine = found.blocks.filter((b) => b.revision === metadata.name)
  const binds = (e: Evidence) => e.liftedAt === undefined
  const isBlocked = (e: Evidence) => mine.some((b) => b.component === e.component)
  const fresh = mine.filter((b) => !before.some((e) => binds(e) && e.component === b.component))
  if (fresh.length === 0 && !before.some((e) => binds(e) && !isBlocked(e))) return undefined
  const lifted = before.map((e) => (binds(e) && !isBlocked(e) ? { ...e, liftedAt: timestamp(found.now) } : e))
  const added = fresh.map(({ component, since, reason }) => ({
    component,
    since,
    reason,
    machines: failedOn(component, found),
  }))
  return [...lifted, ...added].slice(-MOST_KEPT)
}

function failedOn(component: string, { surveys, members }: BlockedNow): readonly string[] {
  const survey = surveys.find((s) => s.track.component === component)
  if (survey === undefined) return []
  return members
    .filter((_, i) => survey.marks[i] === MARKS.failed)
    .slice(0, MOST_NAMED)
    .map((reading) => reportOf(reading, survey.track.index).slice(0, MOST_CHARS))
}

/** A machine's report on the component, with the machine's name, as users see failures. */
export function reportOf({ name, reports }: Reading, index: number): string {
  const { state = '', reason = state, message = '' } = reports[index] ?? {}
  return `${name}: ${reason}${message === '' ? '' : `: ${message.replace(ANY_SPACE, ' ')}`}`
}

/** Probe output may have several lines. */
const ANY_SPACE = /\s+/g

/** The latest failure. Read it while the machine still reports it: a machine that rolled back soon reports something else. */
export function lastFailure({ marks, track: { index } }: Survey, members: readonly Reading[]): string | undefined {
  const sinceOf = ({ reports }: Reading) => Date.parse(reports[index]?.since ?? '') || 0
  let last: Reading | undefined
  for (const [i, reading] of members.entries()) {
    if (marks[i] !== MARKS.failed) continue
    if (last === undefined || sinceOf(reading) > sinceOf(last)) last = reading
  }
  return last && reportOf(last, index)
}
