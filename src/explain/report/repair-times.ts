// How long each part of a repair took: until it was noticed, until it was allowed, until it began, its steps, and the proof that it worked. Pure.
import type { NodeRemedier } from '#api/kinds/node-remedier.ts'
import type { OperationPermit } from '#api/kinds/operation-permit.ts'
import type { RemedyOperationJob } from '#api/kinds/remedy-operation-job.ts'
import { ruleOf } from '#measure/repairs.ts'
import { conditionsIn } from '../rule-conditions.ts'
import type { Fault, ReportFacts } from './facts.ts'
import { faultKind } from './faults.ts'

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

/** What detection is measured from, found by name: a fleet has thousands of repairs and many more faults. */
interface Seen {
  readonly faults: ReadonlyMap<string, readonly Fault[]>
  /** By incident. */
  readonly jobs: ReadonlyMap<string, readonly RemedyOperationJob[]>
  readonly rules: ReadonlyMap<string, NodeRemedier>
}

export const seenIn = ({ faults, jobs, rules }: Pick<ReportFacts, 'faults' | 'jobs' | 'rules'>): Seen => ({
  faults: Map.groupBy(faults, ({ node }) => node),
  jobs: Map.groupBy(jobs, ({ spec }) => spec.incident),
  // The present one of a name, not one that was deleted.
  rules: new Map(rules.toReversed().map((r) => [r.metadata.name ?? '', r])),
})

export function repairTimes(job: RemedyOperationJob, permit: OperationPermit | undefined, seen: Seen): RepairTimes {
  const { metadata, status } = job
  const requested = at(metadata.creationTimestamp)
  const granted = at(permit?.status?.decidedAt)
  const started = at(status?.startedAt)
  const ends = (status?.steps ?? []).map((s) => at(s.finishedAt)).filter((ms) => ms !== undefined)
  const acted = ends.length === 0 ? undefined : Math.max(...ends)
  return {
    detect: detectTime(job, seen),
    wait: between(requested, granted),
    decide: between(granted, started),
    act: between(started, acted),
    verify: between(acted, at(status?.finishedAt)),
  }
}

/** From the newest fault that the rule reads, and that lasted, to the first job of its incident: later rungs detect nothing. */
function detectTime(job: RemedyOperationJob, { faults, jobs, rules }: Seen): number | undefined {
  const rule = rules.get(ruleOf(job))
  const read = new Set(conditionsIn(rule?.spec.when).map(faultKind))
  const requests = (jobs.get(job.spec.incident) ?? [])
    .map(({ metadata }) => at(metadata.creationTimestamp))
    .filter((ms) => ms !== undefined)
  const requested = Math.min(...requests)
  const began = (faults.get(job.spec.node.name) ?? [])
    .filter((f) => read.has(f.kind))
    .filter((f) => f.at <= requested && (f.ended ?? Infinity) >= requested)
    .map((f) => f.at)
    .filter((ms) => requested - ms <= LONGEST_DETECTION_MS)
  return began.length === 0 ? undefined : between(Math.max(...began), requested)
}
