// What happened to a Release in each cluster that it reached: times, gates with their evidence, approvers. Bounded; a finished entry no longer changes. Pure.
import {
  MAX_ALL_RECORDED_GATES,
  MAX_ALL_RECORDED_SWITCHES,
  MAX_EVIDENCE,
  MAX_RECORDED_APPROVERS,
  MAX_RECORDED_GATES,
  MAX_RECORDS,
  type Release,
  type ReleaseStatus,
} from '#api/kinds/release.ts'
import type { ReleasePipelineSpec } from '#api/kinds/release-pipeline.ts'
import { timestamp } from '#lib/clock.ts'
import type { ClusterStatus } from './cluster-seen.ts'
import type { RecordedSwitches } from '../cluster/switches.ts'
import { type Approver, approversOf, type Gate, kindOf, type Stage } from './gates.ts'
import type { GateMoment } from './gate-machine.ts'
import { mayHaveTouched } from './history.ts'
import { isFinished, type StageStatus } from './release-seen.ts'
import { DIGEST_OF_LEAVING } from './tracks.ts'
import { defined } from '#lib/defined.ts'

export type ReleaseRecord = NonNullable<ReleaseStatus['record']>[number]
type RecordedGate = NonNullable<ReleaseRecord['gates']>[number]

export interface RecordSeen {
  readonly release: Release
  readonly pipeline: ReleasePipelineSpec
  readonly stages: readonly StageStatus[]
  readonly clusters: readonly ClusterStatus[]
  readonly approvedBy: readonly Approver[]
  /** Current readings, by cluster. */
  readonly switches?: ReadonlyMap<string, readonly RecordedSwitches[]>
  /** Approved deletions of this pass, by cluster. */
  readonly deletions?: ReadonlyMap<string, NonNullable<ReleaseRecord['deletions']>>
}

export function recordOf(seen: RecordSeen, now: number): readonly ReleaseRecord[] {
  const { release, pipeline, stages, clusters, approvedBy } = seen
  const olds = new Map((release.status?.record ?? []).map((r) => [r.cluster, r]))
  const made = clusters.filter(mayHaveTouched).flatMap((cluster): readonly ReleaseRecord[] => {
    const old = olds.get(cluster.name)
    const stage = pipeline.stages.find((s) => s.name === cluster.stage)
    const status = stages.find((s) => s.name === cluster.stage)
    const isEnd = hasEnded(cluster, status)
    if (old !== undefined && isEnd && old.finishedAt !== undefined && old.phase === cluster.phase) return [old]
    const digest = release.spec.digests[cluster.name]
    // A cluster that lost its stage keeps the record of what was applied.
    if (stage === undefined || digest === undefined) return old === undefined ? [] : [old]
    const gates = gatesIn(stage, status, old, now)
    const switches = seen.switches?.get(cluster.name) ?? old?.switches ?? []
    const deletions = seen.deletions?.get(cluster.name) ?? old?.deletions
    const people = new Set(gatesOf(stage).flatMap(([, gate]) => approversOf(gate, approvedBy)))
    return [
      {
        commit: release.spec.commit,
        cluster: cluster.name,
        stage: stage.name,
        digest,
        phase: cluster.phase,
        startedAt: old?.startedAt ?? timestamp(now),
        ...(isEnd && { finishedAt: timestamp(now) }),
        ...(gates.length > 0 && { gates }),
        ...(switches.length > 0 && { switches }),
        ...(digest === DIGEST_OF_LEAVING && { deletesCluster: true }),
        ...defined({ deletions }),
        ...(people.size > 0 && { approvedBy: [...people].toSorted().slice(0, MAX_RECORDED_APPROVERS) }),
      },
    ]
  })
  return bounded(made)
}

/** A newer Release replaces it, so its work in progress there has ended. */
export const closedRecord = (record: ReleaseStatus['record'], now: number): Pick<ReleaseStatus, 'record'> =>
  record === undefined ? {} : { record: record.map((r) => ({ ...r, finishedAt: r.finishedAt ?? timestamp(now) })) }

function hasEnded({ phase }: ClusterStatus, stage: StageStatus | undefined): boolean {
  if (phase === 'Failed' || phase === 'Offline') return true
  return (phase === 'Healthy' || phase === 'Unchanged') && isFinished(stage)
}

const gatesOf = ({ before = [], gates = [], after = [] }: Stage): readonly (readonly [GateMoment, Gate])[] => [
  ...before.map((gate) => ['Before', gate] as const),
  ...gates.map((gate) => ['During', gate] as const),
  ...after.map((gate) => ['After', gate] as const),
]

function gatesIn(
  stage: Stage,
  status: StageStatus | undefined,
  old: ReleaseRecord | undefined,
  now: number,
): readonly RecordedGate[] {
  const found = gatesOf(stage).flatMap(([when, gate]): readonly RecordedGate[] => {
    const is = (r: { readonly when: string; readonly name: string }) => r.when === when && r.name === gate.name
    const seen = status?.gates?.find(is)
    const kind = kindOf(gate)
    if (seen === undefined || kind === undefined) return []
    const last = old?.gates?.find(is)
    return [
      {
        name: gate.name,
        when,
        kind,
        result: seen.phase,
        ...(seen.seen !== undefined && { evidence: seen.seen.slice(0, MAX_EVIDENCE) }),
        at: last?.result === seen.phase ? last.at : timestamp(now),
      },
    ]
  })
  // A gate that did not pass is more useful than one that did.
  const rank = ({ result }: RecordedGate) => (result === 'Passed' ? 1 : 0)
  return found.length <= MAX_RECORDED_GATES
    ? found
    : found.toSorted((a, b) => rank(a) - rank(b)).slice(0, MAX_RECORDED_GATES)
}

/** Keeps failed records and the newest ones; drops gates and switches of the oldest records first. */
export function bounded(records: readonly ReleaseRecord[]): readonly ReleaseRecord[] {
  const rank = ({ phase }: ReleaseRecord) => (phase === 'Failed' ? 1 : 0)
  const worthiest = records.toSorted(
    (a, b) => rank(b) - rank(a) || (a.startedAt < b.startedAt ? 1 : a.startedAt > b.startedAt ? -1 : 0),
  )
  const kept = new Set(worthiest.slice(0, MAX_RECORDS))
  const withGates = firstWithin(kept, MAX_ALL_RECORDED_GATES, (r) => r.gates?.length ?? 0)
  const withSwitches = firstWithin(kept, MAX_ALL_RECORDED_SWITCHES, (r) => r.switches?.length ?? 0)
  return records
    .filter((r) => kept.has(r))
    .map((r) => {
      const { gates, switches, ...rest } = r
      return {
        ...rest,
        ...(gates !== undefined && withGates.has(r) && { gates }),
        ...(switches !== undefined && withSwitches.has(r) && { switches }),
      }
    })
}

function firstWithin(
  records: Iterable<ReleaseRecord>,
  most: number,
  sizeOf: (record: ReleaseRecord) => number,
): ReadonlySet<ReleaseRecord> {
  const within = new Set<ReleaseRecord>()
  let size = 0
  for (const each of records) {
    size += sizeOf(each)
    if (size <= most) within.add(each)
  }
  return within
}
