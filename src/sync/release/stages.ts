// Decides how far a Release may proceed: which clusters are applied now, which are observed, why the others wait, and what its status reports. Pure. A
// stage opens when the previous one is done. A cluster starts when the stage has room for it. Every wait has a stated reason.
import { without } from '#lib/without.ts'
import type { ReleaseStatus } from '#api/kinds/release.ts'
import { timestamp } from '#lib/clock.ts'
import { matchesLabels } from '#kube/selector.ts'
import { isReverted } from '../revert/policy.ts'
import { advanceCluster, isAtWork } from './cluster-phase.ts'
import type { ClusterStatus, SeenCluster } from './cluster-seen.ts'
import type { Finding, Stage } from './gates.ts'
import { mayHaveTouched } from './history.ts'
import { closedRecord, recordOf } from './record.ts'
import {
  hasOnlyOutside,
  isFinished,
  isOver,
  isRetried,
  type ReleasePlan,
  type ReleaseSeen,
  type StageStatus,
} from './release-seen.ts'
import { withRiskGate } from './risk-gate.ts'
import { entryOf, type StageInput } from './stage-entry.ts'
import { withExemptions, withoutApprovals } from './stage-exempt.ts'
import { checkKey, ruleKey } from './stage-gates.ts'
import { configOf, stageStatus } from './stage-progress.ts'
import { HUB } from './tracks.ts'
import { type Blocked, wait, type WaitingFor } from './waiting.ts'
import { defined } from '#lib/defined.ts'

/** How often an applied cluster is checked: frequent at first, then less the longer it takes. */
const WATCH_MS = 250
const WATCH_LATER_MS = 2_000
/** An unreachable cluster is checked less often. */
const OFFLINE_MS = 10_000
/** A new Cluster causes an event; new labels on an existing one do not. */
const OUTSIDE_MS = 60_000
/** Only a newer Release or a hold changes it. */
const REVERTED_MS = 60_000

export function planRelease(seen: ReleaseSeen, now: number): ReleasePlan {
  const { release, pipeline, newer } = seen
  const before = release.status
  if (isOver(release)) return { status: before ?? {}, isOver: true }
  if (newer !== undefined) return superseded(seen, now)
  // A Release that sync reverted does not proceed, even if it becomes healthy: the revert must be merged, or a user retries.
  if (isReverted(before ?? {}) && !isRetried(seen))
    return { status: { ...before, phase: 'Paused' }, isOver: false, requeueAfter: REVERTED_MS }
  const stages: StageStatus[] = []
  const clusters: ClusterStatus[] = []
  const taken = new Set<string>()
  let waitingFor: WaitingFor | undefined
  let isOpen = true
  let hasFailed = false
  const withGates: Stage[] = []
  for (const declared of pipeline.stages) {
    const members = membersOf(declared, seen).filter((c) => !taken.has(c.name))
    for (const { name } of members) taken.add(name)
    const stage = withRiskGate(
      declared,
      members,
      before?.stages?.find((s) => s.name === declared.name),
    )
    withGates.push(stage)
    const made = planStage({ stage, members, seen, now, isOpen })
    stages.push(made.status)
    clusters.push(...made.clusters)
    waitingFor ??= made.status.phase === 'Waiting' && !isOpen ? undefined : made.status.waitingFor
    hasFailed ||= made.status.phase === 'Failed'
    isOpen &&= isFinished(made.status)
  }
  const lost = lostClusters(seen, taken, now)
  const record = recordOf(
    {
      release,
      pipeline: { ...pipeline, stages: withGates },
      stages,
      clusters: [...clusters, ...lost],
      approvedBy: seen.sight.approvedBy,
      switches: switchesIn(seen),
      ...defined({ deletions: seen.deletions }),
    },
    now,
  )
  // A hold that comes after the end pauses nothing: only clusters that were offline still wait.
  const phase = hasFailed ? 'Paused' : isOpen ? 'Succeeded' : seen.paused !== undefined ? 'Paused' : 'Progressing'
  const status: ReleaseStatus = {
    ...without(before ?? {}, 'observedGeneration', 'waitingFor', 'stages', 'clusters', 'phase', 'retries', 'record'),
    ...defined({ observedGeneration: release.metadata.generation }),
    phase,
    startedAt: before?.startedAt ?? timestamp(now),
    ...(phase === 'Succeeded' ? { finishedAt: before?.finishedAt ?? timestamp(now) } : {}),
    stages,
    clusters: [...clusters, ...lost],
    ...(record.length > 0 && { record }),
    ...(seen.retries.length === 0 ? {} : { retries: seen.retries }),
    ...(phase === 'Succeeded' || waitingFor === undefined ? {} : { waitingFor }),
    ...(isReverted(before ?? {}) && {
      revert: { at: timestamp(now), ...before?.revert, overruledAt: timestamp(now) },
    }),
  }
  return { status, isOver: isOver({ status }), ...dueIn(status, now) }
}

const switchesIn = ({ clusters }: ReleaseSeen) =>
  new Map(
    [...clusters.values()].flatMap(({ name, answer }) =>
      answer?.kind === 'Seen' && answer.switches !== undefined ? [[name, answer.switches] as const] : [],
    ),
  )

/** The earliest pass that the status needs. */
function dueIn(status: ReleaseStatus, now: number): { requeueAfter?: number } {
  const { stages = [], clusters = [] } = status
  if (isOver({ status })) return {}
  const working = clusters.filter((c) => c.phase === 'Verifying' || c.phase === 'Applying')
  const checks = working.map((c) => Math.min(Math.max((now - Date.parse(c.since)) / 20, WATCH_MS), WATCH_LATER_MS))
  // After its soak, a stage waits for gates or people.
  const soaks = stages.flatMap((s) => {
    if (s.phase !== 'Soaking' || s.soakUntil === undefined) return []
    const ms = Date.parse(s.soakUntil) - now
    return [ms > 0 ? ms + 1 : WATCH_LATER_MS]
  })
  const times = [hasOnlyOutside(status) ? OUTSIDE_MS : OFFLINE_MS, ...checks, ...soaks]
  return { requeueAfter: Math.max(50, Math.min(...times)) }
}

/** Waiting clusters stop waiting; applied ones stay as they are until the newer Release reaches them. */
function superseded({ release: { status = {} }, revertedBy }: ReleaseSeen, now: number): ReleasePlan {
  const { waitingFor: _, stages, clusters, record, ...before } = status
  const over: ReleaseStatus = {
    ...before,
    ...(stages === undefined ? {} : { stages: stages.map((stage) => without(stage, 'waitingFor')) }),
    ...(clusters === undefined ? {} : { clusters: clusters.map((cluster) => without(cluster, 'waitingFor', 'prune')) }),
    ...closedRecord(record, now),
    phase: revertedBy === undefined ? 'Superseded' : 'Reverted',
    ...(revertedBy !== undefined && { revertCommit: before.revertCommit ?? revertedBy }),
    finishedAt: before.finishedAt ?? timestamp(now),
  }
  return { status: over, isOver: true }
}

/** Sorted by name if a selector chose them, otherwise as listed. */
function membersOf(
  { name: stage, clusters }: Pick<Stage, 'name' | 'clusters'>,
  { clusters: all, pipeline, release: { status } }: Pick<ReleaseSeen, 'clusters' | 'pipeline' | 'release'>,
): readonly SeenCluster[] {
  if (clusters.hub === true) return [all.get(HUB) ?? []].flat()
  if (clusters.names !== undefined) return clusters.names.flatMap((name) => all.get(name) ?? [])
  const { selector } = clusters
  if (selector === undefined) return []
  const isDone = isFinished(status?.stages?.find((s) => s.name === stage))
  // Its Cluster was deleted but git declares it: sync recreates it, and the stage is not done without it.
  const isAway = ({ name }: SeenCluster): boolean =>
    !isDone && status?.clusters?.some((c) => c.name === name && c.stage === stage) === true
  const isOf = (c: SeenCluster): boolean => {
    if (pipeline.stages.some((s) => s.name === c.stage)) return c.stage === stage
    return c.labels === undefined ? isAway(c) : matchesLabels(selector, c.labels)
  }
  return [...all.values()].filter((c) => c.name !== HUB && isOf(c)).toSorted((a, b) => (a.name < b.name ? -1 : 1))
}

/** Clusters in the release but in no stage: they would wait forever, so the status reports them. */
function lostClusters(
  { clusters, release }: ReleaseSeen,
  taken: ReadonlySet<string>,
  now: number,
): readonly ClusterStatus[] {
  return [...clusters.keys()]
    .filter((name) => !taken.has(name))
    .map((name) => {
      const old = release.status?.clusters?.find((c) => c.name === name)
      const waitingFor = wait(
        old?.waitingFor,
        now,
        'StageWaiting',
        name === HUB ? 'no stage of the pipeline has the hub' : 'no stage of the pipeline has this cluster',
        name === HUB
          ? 'the pipeline has a stage with clusters.hub'
          : 'a commit gives the cluster the labels of a stage',
      )
      const at = { name, stage: old?.stage ?? 'none', phase: 'Waiting' as const, since: old?.since ?? timestamp(now) }
      return { ...at, ...whatWasDone(old), waitingFor }
    })
}

/** A later Release must know that this one reached the cluster. */
function whatWasDone(old: ClusterStatus | undefined): Partial<ClusterStatus> {
  if (old === undefined || !mayHaveTouched(old)) return {}
  const { uid, restored, digest, failures, attempts = 1 } = old
  return {
    ...defined({ uid, restored, digest, failures }),
    attempts,
  }
}

/** Content that completed here before disrupts nothing, so it needs no turn. */
function brakedBefore(
  { name, digest, previous }: SeenCluster,
  before: ClusterStatus | undefined,
  { braked }: ReleaseSeen,
  now: number,
): Blocked | undefined {
  if (before !== undefined && before.phase !== 'Waiting') return undefined
  if (name === HUB || (previous?.digest === digest && before?.attempts === undefined)) return undefined
  const why = braked?.(name)
  return why && wait(before?.waitingFor, now, why.predicate, why.seen, why.unblock)
}

/** By gate. */
function rulesOf({ name, gates = [] }: Stage, cluster: string, { sight }: ReleaseSeen): ReadonlyMap<string, Finding> {
  return new Map(
    gates.flatMap((gate) => {
      const found = sight.rules?.get(ruleKey(name, 'During', gate.name, cluster))
      return found === undefined ? [] : [[gate.name, found] as const]
    }),
  )
}

interface StagePlan {
  readonly status: StageStatus
  readonly clusters: readonly ClusterStatus[]
}

function planStage(input: StageInput): StagePlan {
  const { stage, members, seen, now } = input
  const old = seen.release.status?.stages?.find((s) => s.name === stage.name)
  const olds = new Map((seen.release.status?.clusters ?? []).map((c) => [c.name, c]))
  const isFast = members.length > 0 && members.every((m) => m.isReturn === true)
  const strict = entryOf(input, old)
  const lenient = strict.blocked === undefined ? strict : entryOf(withExemptions(input), old)
  // An earlier stage would prove nothing that this cluster has not already proved, and meanwhile the reverted content would spread.
  const atOnce = input.isOpen ? lenient : entryOf({ ...withExemptions(input), isOpen: true }, old)
  const entry = isFast ? lenient : strict
  const config = configOf(stage, members.length)
  let room = strict.blocked === undefined ? config.concurrency : 0
  const clusters: ClusterStatus[] = []
  let failures = members.filter((m) => olds.get(m.name)?.phase === 'Failed').length
  // Active clusters come first, so that they keep their place.
  room -= members.filter((m) => isAtWork(olds.get(m.name))).length
  const checks = new Map(
    (stage.gates ?? []).flatMap(({ name }) => {
      const check = seen.sight.checks.get(checkKey(stage.name, 'During', name))
      return check === undefined ? [] : [[name, check] as const]
    }),
  )
  const pending = new Set(
    (stage.gates ?? []).flatMap(({ name }) =>
      seen.sight.pending?.has(checkKey(stage.name, 'During', name)) === true ? [name] : [],
    ),
  )
  for (const member of members) {
    const before = olds.get(member.name)
    const isBack = member.isReturn === true
    const isAtOnce = member.isUnderway === true
    const mayStart = (room > 0 || isBack || isAtOnce) && failures <= config.maxFailures
    // A revert needs no turn: it removes what the brake protects from.
    const braked = mayStart && !isBack && !isAtOnce ? brakedBefore(member, before, seen, now) : undefined
    // It keeps its place in the stage: otherwise every cluster of the stage would request a turn at once.
    if (braked !== undefined && !isAtWork(before)) room--
    const next = advanceCluster({
      stage: isBack ? withoutApprovals(stage, seen) : stage,
      member,
      before,
      now,
      mayStart,
      blocked: (isAtOnce ? atOnce : isBack ? lenient : strict).blocked ?? braked,
      approvedBy: seen.sight.approvedBy,
      checks,
      pending,
      rules: rulesOf(stage, member.name, seen),
      isRetried: isRetried(seen),
      release: seen.release.metadata.name ?? '',
    })
    if (!isAtWork(before) && isAtWork(next)) room--
    if (before?.phase !== 'Failed' && next.phase === 'Failed') failures++
    clusters.push(next)
  }
  const shown = isFast ? withExemptions(input) : input
  return { clusters, status: stageStatus(shown, { old, clusters, config, entry }) }
}
