// Whether a Release changed so that another pass over its clusters may find something to do. Pure.
import type { Release } from '#api/kinds/release.ts'

/** Only sync writes the status: what a pass says of what it waits for and what it counted needs no pass that reads all clusters again. */
export const hasProgressed = (old: Release, now: Release): boolean => progressOf(old) !== progressOf(now)

const ONLY_REPORTED: ReadonlySet<string> = new Set(['conditions', 'failures', 'record', 'seen', 'waitingFor'])

const progressOf = ({ metadata: { annotations, deletionTimestamp }, status }: Release): string =>
  JSON.stringify([annotations, deletionTimestamp, status], (key, value: unknown) =>
    ONLY_REPORTED.has(key) ? undefined : value,
  )
