// The Releases of tracks as rows, the newest first. Pure.
import { commitText, titledCommit } from '#api/protocol/commit-title.ts'
import type { Release } from '#api/kinds/release.ts'
import { formatAge } from '#lib/duration.ts'

/** More than a person reads; older ones are in git. */
const MOST_ROWS = 200

const made = ({ metadata }: Release): number => Date.parse(metadata.creationTimestamp ?? '') || 0

export const historyOf = (all: readonly Release[], track: string | undefined): readonly Release[] =>
  all
    .filter((r) => track === undefined || r.spec.track === track)
    .toSorted((a, b) => (a.spec.track < b.spec.track ? -1 : a.spec.track > b.spec.track ? 1 : made(b) - made(a)))
    .slice(0, MOST_ROWS)

export const HISTORY_HEAD = ['TRACK', 'RELEASE', 'COMMIT', 'PHASE', 'AGE', 'REVERTS'] as const

export const historyRow = (r: Release, all: readonly Release[], now: number): readonly string[] => [
  r.spec.track,
  r.metadata.name ?? '',
  commitText(r.spec.commit, r.spec),
  r.status?.phase ?? 'Pending',
  formatAge(now - made(r)),
  r.spec.revertOf === undefined ? '' : titledCommit(r.spec.revertOf, all),
]
