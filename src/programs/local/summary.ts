// Draws the progress of the local fleet as lines of a screen: the cluster first. Pure.
import { progressOf } from '#explain/progress/progress.ts'
import type { FleetSeen, Progress } from '#explain/progress/seen.ts'

const CLUSTER_CHARS = 6
const LABEL_CHARS = 7

const lineOf = ({ of, label, text }: Progress): string =>
  `${of.padEnd(CLUSTER_CHARS)} ${label === undefined ? '' : `  ${label.padEnd(LABEL_CHARS)}  `}${text}`

/** `since`: when the fleet was started; 0 when that is not known. */
export const summaryLines = (seen: FleetSeen, since: number, hasBars = false): readonly string[] =>
  progressOf(seen, { since, hasBars, hasAttention: true }).map(lineOf)

/** Where all that needs attention is listed below. */
export const stateLines = (seen: FleetSeen, since: number): readonly string[] => progressOf(seen, { since }).map(lineOf)
