// What people say of a repair that is under way: it is not wanted any more, or nothing new may be begun.
import { holdOver } from '#nodeops/rules/holds-over.ts'
import type { Seen } from './seen.ts'

export const touched = ({ job, machine, node, remedier }: Seen) =>
  [
    ['RemedyOperationJob', job],
    ['NodeRemedier', remedier],
    ['Machine', machine],
    ['Node', node],
  ] as const

/** Why it shall end; what has begun ends first. */
export function unwanted(seen: Seen, now: number): string | undefined {
  const abort = holdOver(seen.holds, ['Abort'], touched(seen), now)
  if (abort !== undefined) return `hold ${abort.metadata.name}: ${abort.spec.reason}`
  return seen.job.metadata.deletionTimestamp === undefined ? undefined : 'the job was deleted'
}

/** Which hold forbids to begin anything. A freeze takes the permit back besides. */
export function heldBy(seen: Seen, now: number): string | undefined {
  const hold = holdOver(seen.holds, ['Pause', 'Freeze'], touched(seen), now)
  return hold && `hold ${hold.metadata.name}: ${hold.spec.reason}`
}
