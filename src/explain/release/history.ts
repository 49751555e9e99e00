// The Releases of tracks as rows, newest first. Pure.
import { commitText, titledCommit } from '#api/protocol/commit-title.ts'
import type { Release } from '#api/kinds/release.ts'
import { createdMs } from '#api/schema/object-meta.ts'
import { formatAge } from '#lib/duration.ts'

/** More than a user reads; older ones are in git. */
const MOST_ROWS = 200

export const historyOf = (all: readonly Release[], track: string | undefined): readonly Release[] =>
  all
    .filter((r) => track === undefined || r.spec.track === track)
    .toSorted((a, b) =>
      a.spec.track < b.spec.track ? -1 : a.spec.track > b.spec.track ? 1 : createdMs(b) - createdMs(a),
    )
    .slice(0, MOST_ROWS)

export const HISTORY_HEAD = ['TRACK', 'RELEASE', 'COMMIT', 'PHASE', 'AGE', 'REVERTS'] as const

export const historyRow = (r: Release, all: readonly Release[], now: number): readonly string[] => [
  r.spec.track,
  r.metadata.name ?? '',
  commitText(r.spec.commit, r.spec),
  r.status?.phase ?? 'Pending',
  formatAge(now - createdMs(r)),
  r.spec.revertOf === undefined ? '' : titledCommit(r.spec.revertOf, all),
]
