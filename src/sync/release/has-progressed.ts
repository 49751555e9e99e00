// Whether a Release changed so that another pass over its clusters may have work to do. Pure.
import type { Release } from '#api/kinds/release.ts'

/** Only sync writes the status: wait texts and counts from a pass do not need another pass over all clusters. */
export const hasProgressed = (old: Release, now: Release): boolean => progressOf(old) !== progressOf(now)

const ONLY_REPORTED: ReadonlySet<string> = new Set(['conditions', 'failures', 'record', 'seen', 'waitingFor'])

const progressOf = ({ metadata: { annotations, deletionTimestamp }, status }: Release): string =>
  JSON.stringify([annotations, deletionTimestamp, status], (key, value: unknown) =>
    ONLY_REPORTED.has(key) ? undefined : value,
  )
