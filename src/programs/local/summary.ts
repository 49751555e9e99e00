// Draws the local fleet's progress as screen lines, the cluster first. Pure.
import { progressOf } from '#explain/progress/progress.ts'
import type { FleetSeen, Progress } from '#explain/progress/seen.ts'

/** Minimum width of the name column; a longer name shifts only its own line. */
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

/** For displays that list everything needing attention below. */
export const stateLines = (seen: FleetSeen, since: number): readonly string[] => linesOf(progressOf(seen, { since }))
