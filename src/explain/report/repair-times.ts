// How long each part of a repair took: until it was noticed, until it was allowed, until it began, its steps, and the proof that it worked. Pure.
import type { OperationPermit } from '#api/kinds/operation-permit.ts'
import type { RemedyOperationJob } from '#api/kinds/remedy-operation-job.ts'
import type { Fault } from './facts.ts'

/** Seconds; undefined for a part that has not been, or is not known. */
export interface RepairTimes {
  readonly detect: number | undefined
  readonly wait: number | undefined
  readonly decide: number | undefined
  readonly act: number | undefined
  readonly verify: number | undefined
}

const at = (text: string | undefined): number | undefined => {
  const ms = Date.parse(text ?? '')
  return Number.isFinite(ms) ? ms : undefined
}

const between = (from: number | undefined, to: number | undefined): number | undefined =>
  from === undefined || to === undefined || to < from ? undefined : (to - from) / 1_000

/** A fault that began earlier was repaired for another reason. */
const LONGEST_DETECTION_MS = 86_400_000

/** Detection is that of the newest fault of the node before the repair was requested. */
export function repairTimes(
  { metadata, spec, status }: RemedyOperationJob,
  permit: OperationPermit | undefined,
  faults: readonly Fault[],
): RepairTimes {
  const requested = at(metadata.creationTimestamp)
  const began = faults
    .filter((f) => f.node === spec.node.name && requested !== undefined && f.at <= requested)
    .map((f) => f.at)
    .filter((ms) => (requested ?? 0) - ms <= LONGEST_DETECTION_MS)
  const granted = at(permit?.status?.decidedAt)
  const started = at(status?.startedAt)
  const ends = (status?.steps ?? []).map((s) => at(s.finishedAt)).filter((ms) => ms !== undefined)
  const acted = ends.length === 0 ? undefined : Math.max(...ends)
  return {
    detect: began.length === 0 ? undefined : between(Math.max(...began), requested),
    wait: between(requested, granted),
    decide: between(granted, started),
    act: between(started, acted),
    verify: between(acted, at(status?.finishedAt)),
  }
}
