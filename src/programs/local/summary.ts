// Draws the progress of the local fleet as lines of a screen: the cluster first. Pure.
import { progressOf } from '#explain/progress/progress.ts'
import type { FleetSeen, Progress } from '#explain/progress/seen.ts'

/** Names of clusters are aligned up to the longest of these; a longer one moves its own line only. */
const LEAST_CHARS = 6
const MOST_CHARS = 20
const LABEL_CHARS = 7

function linesOf(progress: readonly Progress[]): readonly string[] {
  const width = Math.max(LEAST_CHARS, ...progress.map(({ of }) => Math.min(of.length, MOST_CHARS)))
  return progress.map(
    ({ of, label, text }) =>
      `${of.padEnd(width)} ${label === undefined ? '' : `  ${label.padEnd(LABEL_CHARS)}  `}${text}`,
  )
}

/** `since`: when the fleet was started; 0 when that is not known. */
export const summaryLines = (seen: FleetSeen, since: number, hasBars = false): readonly string[] =>
  linesOf(progressOf(seen, { since, hasBars, hasAttention: true }))

/** Where all that needs attention is listed below. */
export const stateLines = (seen: FleetSeen, since: number): readonly string[] => linesOf(progressOf(seen, { since }))
