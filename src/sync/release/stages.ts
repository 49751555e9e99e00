// Decides how far a Release may proceed: which clusters are applied now, which are observed, why the others wait, and what its status reports. Pure.
// A stage opens when the previous one is done; a cluster is started when the stage has room for it; every wait has a stated reason.
import type { Release, ReleaseStatus } from '#api/kinds/release.ts'
import type { ReleasePipelineSpec } from '#api/kinds/release-pipeline.ts'
import type { Reason } from '#api/catalogue.ts'
import { timestamp } from '#lib/clock.ts'
import { parseDuration } from '#lib/duration.ts'
import { matchesLabels } from '#kube/selector.ts'
import {
  advanceCluster,
  countOf,
  isAtWork,
  isDone,
  soakUntil,
  type ClusterStatus,
  type SeenCluster,
} from './cluster-phase.ts'
import type { Stage } from './gates.ts'
import { mayHaveTouched } from './history.ts'
import { type Exemption, isReverted, type RevertedBefore } from '../revert/policy.ts'
import { type GateRecord, havePassed } from './gate-machine.ts'
import {
  closedText,
  failedText,
  type GateSight,
  gatesAfter,
  gatesBefore,
  gatesDuring,
  keptRecords,
  lookKey,
} from './stage-gates.ts'
import { wait, type Blocked, type WaitingFor } from './waiting.ts'
import { openingOf } from '#windows/windows.ts'

type StageStatus = NonNullable<ReleaseStatus['stages']>[number]

export interface ReleaseSeen {
  readonly release: Release
  readonly pipeline: ReleasePipelineSpec
  /** Clusters of the hub that the release has content for, by name. */
  readonly clusters: ReadonlyMap<string, SeenCluster>
  /** The name of the newer Release of the track, if there is one. */
  readonly newer: string | undefined
  /** Why a hold pauses it. */
  readonly paused: string | undefined
  /** What gates judge by. */
  readonly sight: GateSight
  /** UIDs of the holds that request a retry, at most as many as the status keeps. */
  readonly retries: readonly string[]
  /** Soaks that users end. */
  readonly promotions: readonly Promotion[]
  /** The commit of the newer Release, if that reverts this one. */
  readonly revertedBy?: string | undefined
  /** The same objects failed and were reverted. */
  readonly revertedBefore?: RevertedBefore | undefined
  /** What does not block a revert where it brings back what was healthy. */
  readonly exempt?: ReadonlySet<Exemption>
}

/** A user has seen enough of the soak that was in progress at that time; a later soak of the stage is none of it. */
export interface Promotion {
  readonly stage: string
  readonly at: number
}

export interface ReleasePlan {
  readonly status: ReleaseStatus
  readonly isOver: boolean
  /** Milliseconds until the next pass, even without an event. */
  readonly requeueAfter?: number
}

/** A hold that is not in the status yet. */
export const isRetried = ({ release, retries }: Pick<ReleaseSeen, 'release' | 'retries'>): boolean =>
  retries.some((uid) => release.status?.retries?.includes(uid) !== true)

const OVER: ReadonlySet<string> = new Set(['Succeeded', 'Failed', 'Reverted', 'Superseded'])

const OPEN_ENDS: ReadonlySet<string> = new Set(['Offline', 'Applying', 'Verifying'])

/** A Release that succeeded is not over while clusters that were offline are still to be caught up. */
export const isOver = ({ status }: Pick<Release, 'status'>): boolean =>
  OVER.has(status?.phase ?? '') &&
  !(status?.phase === 'Succeeded' && (status.clusters ?? []).some((c) => OPEN_ENDS.has(c.phase)))

/** Clusters that the plan must read; those to be applied are applied by it. */
export function clustersToLookAt({ status }: Pick<Release, 'status'>): readonly string[] {
  const finished = new Set((status?.stages ?? []).filter(isFinished).map((s) => s.name))
  return (status?.clusters ?? [])
    .filter((c) => c.phase !== 'Waiting' && (!finished.has(c.stage) || OPEN_ENDS.has(c.phase)))
    .map((c) => c.name)
}

const isFinished = (stage: Pick<StageStatus, 'phase'> | undefined): boolean =>
  stage?.phase === 'Succeeded' || stage?.phase === 'Skipped'

/** How often an applied cluster is checked: often at first, less so the longer it takes. */
const WATCH_MS = 250
const WATCH_LATER_MS = 2_000
/** An unreachable cluster is checked less often. */
const OFFLINE_MS = 10_000
/** Only a newer Release or a hold changes it. */
const REVERTED_MS = 60_000

export function planRelease(seen: ReleaseSeen, now: number): ReleasePlan {
  const { release, pipeline, newer } = seen
  const before = release.status
  if (isOver(release)) return { status: before ?? {}, isOver: true }
  if (newer !== undefined) return superseded(seen, now)
  // What sync reverted goes no further, also where it becomes healthy: the revert has to be merged, or a person retries.
  if (isReverted(before ?? {}) && !isRetried(seen))
    return { status: { ...before, phase: 'Paused' }, isOver: false, requeueAfter: REVERTED_MS }
  const stages: StageStatus[] = []
  const clusters: ClusterStatus[] = []
  const taken = new Set<string>()
  let waitingFor: WaitingFor | undefined
  let isOpen = true
  let hasFailed = false
  for (const stage of pipeline.stages) {
    const members = membersOf(stage, seen.clusters).filter((c) => !taken.has(c.name))
    for (const { name } of members) taken.add(name)
    const made = planStage({ stage, members, seen, now, isOpen })
    stages.push(made.status)
    clusters.push(...made.clusters)
    waitingFor ??= made.status.phase === 'Waiting' && !isOpen ? undefined : made.status.waitingFor
    hasFailed ||= made.status.phase === 'Failed'
    isOpen &&= isFinished(made.status)
  }
  const lost = lostClusters(seen, taken, now)
  const phase = hasFailed || seen.paused !== undefined ? 'Paused' : isOpen ? 'Succeeded' : 'Progressing'
  const {
    observedGeneration: _,
    waitingFor: __,
    stages: ___,
    clusters: ____,
    phase: _____,
    retries: ______,
    ...kept
  } = before ?? {}
  const status: ReleaseStatus = {
    ...kept,
    ...(release.metadata.generation === undefined ? {} : { observedGeneration: release.metadata.generation }),
    phase,
    startedAt: before?.startedAt ?? timestamp(now),
    ...(phase === 'Succeeded' ? { finishedAt: before?.finishedAt ?? timestamp(now) } : {}),
    stages,
    clusters: [...clusters, ...lost],
    ...(seen.retries.length === 0 ? {} : { retries: seen.retries }),
    ...(phase === 'Succeeded' || waitingFor === undefined ? {} : { waitingFor }),
    ...(isReverted(before ?? {}) && {
      revert: { at: timestamp(now), ...before?.revert, overruledAt: timestamp(now) },
    }),
  }
  return { status, isOver: isOver({ status }), ...dueIn(status, now) }
}

/** The newest pass that anything in the status requests. */
function dueIn(status: ReleaseStatus, now: number): { requeueAfter?: number } {
  const { stages = [], clusters = [] } = status
  if (isOver({ status })) return {}
  const working = clusters.filter((c) => c.phase === 'Verifying' || c.phase === 'Applying')
  const looks = working.map((c) => Math.min(Math.max((now - Date.parse(c.since)) / 20, WATCH_MS), WATCH_LATER_MS))
  const soaks = stages.flatMap((s) =>
    s.phase === 'Soaking' && s.soakUntil !== undefined ? [Date.parse(s.soakUntil) - now] : [],
  )
  const times = [OFFLINE_MS, ...looks, ...soaks.map((ms) => Math.max(0, ms) + 1)]
  return { requeueAfter: Math.max(50, Math.min(...times)) }
}

/** Waiting clusters no longer wait; applied ones stay as they are until the newer Release reaches them. */
function superseded({ release: { status = {} }, revertedBy }: ReleaseSeen, now: number): ReleasePlan {
  const { waitingFor: _, stages, clusters, ...before } = status
  const over: ReleaseStatus = {
    ...before,
    ...(stages === undefined ? {} : { stages: stages.map(({ waitingFor: __, ...stage }) => stage) }),
    ...(clusters === undefined
      ? {}
      : { clusters: clusters.map(({ waitingFor: __, prune: ___, ...cluster }) => cluster) }),
    phase: revertedBy === undefined ? 'Superseded' : 'Reverted',
    ...(revertedBy !== undefined && { revertCommit: before.revertCommit ?? revertedBy }),
    finishedAt: before.finishedAt ?? timestamp(now),
  }
  return { status: over, isOver: true }
}

/** In the order of names where a selector chose them, as listed otherwise. */
function membersOf(
  { clusters }: Pick<Stage, 'clusters'>,
  all: ReadonlyMap<string, SeenCluster>,
): readonly SeenCluster[] {
  if (clusters.names !== undefined) return clusters.names.flatMap((name) => all.get(name) ?? [])
  const { selector } = clusters
  if (selector === undefined) return []
  return [...all.values()]
    .filter((c) => c.labels !== undefined && matchesLabels(selector, c.labels))
    .toSorted((a, b) => (a.name < b.name ? -1 : 1))
}

/** In the release, but in no stage: it would wait for ever, so the status reports it. */
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
        'no stage of the pipeline has this cluster',
        'the cluster has the labels of a stage',
      )
      const at = { name, stage: old?.stage ?? 'none', phase: 'Waiting' as const, since: old?.since ?? timestamp(now) }
      return { ...at, ...whatWasDone(old), waitingFor }
    })
}

/** A later Release has to know that this one reached the cluster. */
function whatWasDone(old: ClusterStatus | undefined): Partial<ClusterStatus> {
  if (old === undefined || !mayHaveTouched(old)) return {}
  const { digest, failures, attempts = 1 } = old
  return { ...(digest === undefined ? {} : { digest }), ...(failures === undefined ? {} : { failures }), attempts }
}

interface StageInput {
  readonly stage: Stage
  readonly members: readonly SeenCluster[]
  readonly seen: ReleaseSeen
  readonly now: number
  /** All previous stages are done. */
  readonly isOpen: boolean
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
  const entry = isFast ? lenient : strict
  const config = configOf(stage, members.length)
  let room = strict.blocked === undefined ? config.concurrency : 0
  const clusters: ClusterStatus[] = []
  let failures = members.filter((m) => olds.get(m.name)?.phase === 'Failed').length
  // Active clusters come first, so that they keep their place.
  room -= members.filter((m) => isAtWork(olds.get(m.name))).length
  const looks = new Map(
    (stage.gates ?? []).flatMap(({ name }) => {
      const look = seen.sight.looks.get(lookKey(stage.name, 'During', name))
      return look === undefined ? [] : [[name, look] as const]
    }),
  )
  for (const member of members) {
    const before = olds.get(member.name)
    const isBack = member.isReturn === true
    const mayStart = (room > 0 || isBack) && failures <= config.maxFailures
    const next = advanceCluster({
      stage: isBack ? withoutApprovals(stage, seen) : stage,
      member,
      before,
      now,
      mayStart,
      blocked: (isBack ? lenient : strict).blocked,
      approvedBy: seen.sight.approvedBy,
      looks,
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

/** As the stage is for a revert that brings back what was healthy, where its pipeline exempts it from something by name. */
function withExemptions(input: StageInput): StageInput {
  const { stage, seen } = input
  const { windows, before = [], ...rest } = withoutApprovals(stage, seen)
  // Readings before it would hold the very change that mends them.
  const kept = { ...rest, before: before.filter((gate) => gate.approval !== undefined) }
  return {
    ...input,
    stage: windows === undefined || seen.exempt?.has('Windows') === true ? kept : { ...kept, windows },
  }
}

function withoutApprovals(stage: Stage, { exempt }: ReleaseSeen): Stage {
  if (exempt?.has('Approvals') !== true) return stage
  const { before = [], gates = [], after = [] } = stage
  const others = (all: typeof gates) => all.filter((gate) => gate.approval === undefined)
  return {
    ...stage,
    before: before.filter((gate) => gate.approval === undefined),
    gates: others(gates),
    after: others(after),
  }
}

interface StageConfig {
  readonly concurrency: number
  readonly maxFailures: number
}

function configOf({ maxConcurrency, maxFailures }: Stage, size: number): StageConfig {
  return { concurrency: Math.max(1, countOf(maxConcurrency, size)), maxFailures: countOf(maxFailures, size) }
}

const hasStarted = ({ status }: Release): boolean => status?.stages?.some((s) => s.startedAt !== undefined) === true

interface Entry {
  /** Why the stage may not start any cluster; undefined when it is open. */
  readonly blocked: Blocked | undefined
  /** A gate before it did not pass in time. */
  readonly isFailed: boolean
  /** Of the gates before it. */
  readonly records: readonly GateRecord[]
}

function entryOf(input: StageInput, old: StageStatus | undefined): Entry {
  const { stage, members, seen, now, isOpen } = input
  const why = (predicate: Reason, seenValue: string, unblock: string) =>
    wait(old?.waitingFor, now, predicate, seenValue, unblock)
  const closed = (blocked: Blocked, records: readonly GateRecord[], isFailed = false) => ({
    blocked,
    isFailed,
    records,
  })
  const kept = isRetried(seen) ? [] : keptRecords(old, 'Before')
  if (isFinished(old)) return { blocked: undefined, isFailed: false, records: [] }
  if (!isOpen) return closed(why('StageWaiting', 'an earlier stage has not finished', 'the earlier stage succeeds'), [])
  const moment = { stage, old, sight: seen.sight, now, isRetried: isRetried(seen) }
  const held = seen.paused === undefined ? undefined : why('HoldPause', seen.paused, 'the hold ends or is deleted')
  // The time of a gate does not run while a hold pauses the release.
  if (held !== undefined && !havePassed(stage.before ?? [], 'Before', old?.gates ?? []))
    return closed(held, kept, kept.length > 0)
  const again = seen.revertedBefore
  if (again !== undefined && seen.retries.length === 0 && !hasStarted(seen.release)) {
    const text = `commit ${again.commit.slice(0, 12)} with the same objects failed and was reverted by ${again.revertCommit.slice(0, 12)}`
    return closed(
      why('RevertedBefore', text, `kubenode release retry ${seen.release.metadata.name ?? ''}`),
      kept,
      kept.length > 0,
    )
  }
  const { state, records, closed: first } = gatesBefore(moment, members)
  const name = seen.release.metadata.name ?? ''
  if (first !== undefined && state === 'Failed') {
    const text = failedText(first, name)
    return closed(why('GateFailed', text.seen, text.unblock), records, true)
  }
  if (held !== undefined) return closed(held, records)
  if (first !== undefined) {
    const text = closedText(first, name)
    return closed(why('GateClosed', text.seen, text.unblock), records)
  }
  const { isOpen: isWindowOpen, problem } = openingOf(stage.windows, now)
  if (problem !== undefined)
    return closed(why('WaitingForWindow', problem, 'the windows of the stage are corrected'), records)
  if (!isWindowOpen)
    return closed(why('WaitingForWindow', 'no maintenance window is open', 'the next window opens'), records)
  return { blocked: undefined, isFailed: false, records }
}

interface StageOutcome {
  readonly old: StageStatus | undefined
  readonly clusters: readonly ClusterStatus[]
  readonly config: StageConfig
  readonly entry: Entry
}

function stageStatus(
  { stage, members, seen, now, isOpen }: StageInput,
  { old, clusters, config: { maxFailures }, entry }: StageOutcome,
): StageStatus {
  const { blocked } = entry
  const count = (...phases: readonly string[]) => clusters.filter((c) => phases.includes(c.phase)).length
  const counts = {
    healthy: count('Healthy', 'Unchanged'),
    failed: count('Failed'),
    offline: count('Offline'),
    total: clusters.length,
  }
  const moment = { stage, old, sight: seen.sight, now, isRetried: isRetried(seen) }
  const gates = [
    ...entry.records,
    ...gatesDuring(moment, members, clusters),
    ...(isRetried(seen) ? [] : keptRecords(old, 'After')),
  ]
  const base = { name: stage.name, ...counts, ...(gates.length === 0 ? {} : { gates }) }
  // A finished stage stays finished; clusters that return are caught up without reopening it.
  if (old !== undefined && isFinished(old)) return { ...old, ...counts }
  const started = old?.startedAt === undefined ? {} : { startedAt: old.startedAt }
  if (!isOpen) return { ...base, phase: 'Waiting', ...(blocked === undefined ? {} : { waitingFor: blocked }) }
  if (members.length === 0) return { name: stage.name, ...counts, phase: 'Skipped', finishedAt: timestamp(now) }
  if (entry.isFailed && blocked !== undefined) return { ...base, ...started, phase: 'Failed', waitingFor: blocked }
  if (counts.failed > maxFailures) {
    const bad = clusters.find((c) => c.phase === 'Failed')
    const text = `${counts.failed} of ${counts.total} clusters failed: ${bad?.name ?? ''}: ${bad?.message ?? ''}`
    const retry = `kubenode release retry ${seen.release.metadata.name ?? ''}`
    const unblock = `the failed clusters become healthy, or a commit corrects or reverts the change; to retry now, run ${retry}`
    const waitingFor = wait(old?.waitingFor, now, 'StageFailed', text, unblock)
    return { ...base, ...started, phase: 'Failed', waitingFor }
  }
  const opened = { startedAt: old?.startedAt ?? timestamp(now) }
  if (!clusters.every(isDone)) {
    if (blocked !== undefined && !clusters.some((c) => isAtWork(c) || isDone(c)))
      return { ...base, ...started, phase: 'Waiting', waitingFor: blocked }
    const first =
      clusters.find((c) => isAtWork(c) && c.waitingFor !== undefined) ??
      clusters.find((c) => c.waitingFor !== undefined)
    const waitingFor =
      blocked ??
      (first?.waitingFor && {
        ...first.waitingFor,
        seen: `${first.name}: ${first.waitingFor.seen ?? ''}`.slice(0, 200),
      })
    return { ...base, ...opened, phase: 'Progressing', ...(waitingFor === undefined ? {} : { waitingFor }) }
  }
  if (counts.healthy === 0) {
    // With no healthy cluster as evidence for the change, the next stage stays closed.
    const text = `none of ${counts.total} clusters of the stage is healthy`
    const waitingFor = wait(
      old?.waitingFor,
      now,
      'ClusterOffline',
      text,
      'at least one of them responds and is healthy',
    )
    return { ...base, ...opened, phase: 'Progressing', waitingFor }
  }
  return afterClusters({ stage, seen, now, base: { ...base, ...opened }, old, clusters })
}

/** Times are written in whole seconds: rounded so that no soak is too short. */
const roundUp = (ms: number): number => Math.ceil(ms / 1_000) * 1_000

/** Both are whole seconds, one of them rounded up. */
const isPromoted = ({ promotions }: ReleaseSeen, { name }: Stage, clusters: readonly ClusterStatus[]): boolean =>
  promotions.some(
    ({ stage, at }) => stage === name && clusters.every((c) => Date.parse(c.healthySince ?? '') <= at + 1_000),
  )

interface AfterInput {
  readonly stage: Stage
  readonly seen: ReleaseSeen
  readonly now: number
  readonly base: Omit<StageStatus, 'phase'>
  readonly old: StageStatus | undefined
  readonly clusters: readonly ClusterStatus[]
}

/** All clusters are done: first the soak, counted from the last that became healthy, then the gates after it. */
function afterClusters({ stage, seen, now, base, old, clusters }: AfterInput): StageStatus {
  const well = clusters.filter((c) => c.healthySince !== undefined)
  const soakMs = parseDuration(stage.minSuccessTime)
  // What was healthy there before needs no new soak.
  const fresh = well.filter((c) => seen.clusters.get(c.name)?.isReturn !== true)
  const until = fresh.length === 0 ? now : Math.max(...fresh.map((c) => soakUntil(c, stage)))
  const soaksUntil = timestamp(roundUp(until))
  const why = (predicate: Reason, value: string, unblock: string) =>
    wait(old?.waitingFor, now, predicate, value, unblock)
  if (seen.paused !== undefined)
    return {
      ...base,
      phase: 'Soaking',
      soakUntil: soaksUntil,
      waitingFor: why('HoldPause', seen.paused, 'the hold ends or is deleted'),
    }
  // Without a soak there is nothing to round up to.
  if (soakMs > 0 && now < until && !isPromoted(seen, stage, well))
    return {
      ...base,
      phase: 'Soaking',
      soakUntil: soaksUntil,
      waitingFor: why(
        'MinSuccessTime',
        `healthy, soaking until ${soaksUntil}`,
        `the stage stays healthy until ${soaksUntil}`,
      ),
    }
  const silent = well.find((c) => c.waitingFor !== undefined)
  if (silent?.waitingFor !== undefined) {
    const seenText = `${silent.name}: ${silent.waitingFor.seen ?? ''}`.slice(0, 200)
    return { ...base, phase: 'Soaking', soakUntil: soaksUntil, waitingFor: { ...silent.waitingFor, seen: seenText } }
  }
  const moment = { stage, old, sight: seen.sight, now, isRetried: isRetried(seen) }
  const { state, records, closed } = gatesAfter(
    moment,
    well.map((c) => seen.clusters.get(c.name)),
  )
  const gates = [...(base.gates ?? []).filter((r) => r.when !== 'After'), ...records]
  const done = { ...base, ...(gates.length === 0 ? {} : { gates }), soakUntil: soaksUntil }
  if (closed === undefined) return { ...done, phase: 'Succeeded', finishedAt: timestamp(now) }
  const name = seen.release.metadata.name ?? ''
  const text = state === 'Failed' ? failedText(closed, name) : closedText(closed, name)
  const predicate = state === 'Failed' ? 'GateFailed' : 'GateClosed'
  return {
    ...done,
    phase: state === 'Failed' ? 'Failed' : 'Soaking',
    waitingFor: why(predicate, text.seen, text.unblock),
  }
}
