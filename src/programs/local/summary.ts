// Draws the local fleet's progress as screen lines, the cluster first. Pure.
import { progressOf } from '#explain/progress/progress.ts'
import type { FleetSeen, Progress } from '#explain/progress/seen.ts'

const LEAST_CHARS = 6
/** Of the name column. Names of previews fit; they differ in their last digits. */
const MOST_CHARS = 40
const MOST_OF_END = 12
const LABEL_CHARS = 7

/** A name that is too long loses its middle. */
const fitted = (name: string): string =>
  name.length <= MOST_CHARS ? name : `${name.slice(0, MOST_CHARS - MOST_OF_END - 1)}…${name.slice(-MOST_OF_END)}`

function linesOf(progress: readonly Progress[]): readonly string[] {
  const width = Math.max(LEAST_CHARS, ...progress.map(({ of }) => fitted(of).length))
  return progress.map(
    ({ of, label, text }) =>
      `${fitted(of).padEnd(width)} ${label === undefined ? '' : `  ${label.padEnd(LABEL_CHARS)}  `}${text}`,
  )
}

/** `since`: when the fleet was started; 0 when that is not known. */
export const summaryLines = (seen: FleetSeen, since: number, hasBars = false): readonly string[] =>
  linesOf(progressOf(seen, { since, hasBars, hasAttention: true }))

/** For displays that list everything needing attention below. */
export const stateLines = (seen: FleetSeen, since: number): readonly string[] => linesOf(progressOf(seen, { since }))
