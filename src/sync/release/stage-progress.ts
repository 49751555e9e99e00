// Decides the phase of a stage from its clusters: progressing, soaking, waiting for the gates after it, failed or done. Pure.
import type { Reason } from '#api/catalogue.ts'
import { timestamp } from '#lib/clock.ts'
import { counted } from '#lib/counted.ts'
import { defined } from '#lib/defined.ts'
import { parseDuration } from '#lib/duration.ts'
import { revertReleaseOrRetry } from '#runtime/waiting.ts'
import { isAtWork, isDone, soakUntil } from './cluster-phase.ts'
import type { ClusterStatus } from './cluster-seen.ts'
import { countOf } from './cluster-trouble.ts'
import { type Gate, isRemote, type Stage, unblockOf } from './gates.ts'
import { isFinished, isRetried, type ReleaseSeen, type StageStatus } from './release-seen.ts'
import type { Entry, StageInput } from './stage-entry.ts'
import { checkKey, closedText, failedText, gatesAfter, gatesDuring, keptRecords } from './stage-gates.ts'
import { wait } from './waiting.ts'
import { shortened } from '#lib/shortened.ts'

export interface StageConfig {
  readonly concurrency: number
  readonly maxFailures: number
}

export function configOf({ maxConcurrency, maxFailures }: Stage, size: number): StageConfig {
  return { concurrency: Math.max(1, countOf(maxConcurrency, size)), maxFailures: countOf(maxFailures, size) }
}

interface StageOutcome {
  readonly old: StageStatus | undefined
  readonly clusters: readonly ClusterStatus[]
  readonly config: StageConfig
  readonly entry: Entry
}

export function stageStatus(
  { stage, members, seen, now, isOpen }: StageInput,
  { old, clusters, config: { maxFailures }, entry }: StageOutcome,
): StageStatus {
  const { blocked } = entry
  const count = (...phases: readonly string[]) => clusters.filter((c) => phases.includes(c.phase)).length
  const counts: Required<Pick<StageStatus, 'healthy' | 'failed' | 'offline' | 'total'>> = {
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
  // A finished stage stays finished; clusters that return catch up without reopening it.
  if (old !== undefined && isFinished(old)) return { ...old, ...counts }
  const started = old?.startedAt === undefined ? {} : { startedAt: old.startedAt }
  if (!isOpen) return { ...base, phase: 'Waiting', ...defined({ waitingFor: blocked }) }
  if (members.length === 0) return { name: stage.name, ...counts, phase: 'Skipped', finishedAt: timestamp(now) }
  if (entry.isFailed && blocked !== undefined) return { ...base, ...started, phase: 'Failed', waitingFor: blocked }
  if (counts.failed > maxFailures) {
    const bad = clusters.find((c) => c.phase === 'Failed')
    const text = `${counts.failed} of ${counted(counts.total, 'cluster')} failed: ${bad?.name ?? ''}: ${bad?.message ?? ''}`
    const retry = `kubenode release retry ${seen.release.metadata.name ?? ''} --reason WHY`
    const { commit, revert } = seen.release.spec
    const unblock = revertReleaseOrRetry({ commit, ...defined({ revert, after: seen.reached }) }, retry)
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
        seen: shortened(`${first.name}: ${first.waitingFor.seen ?? ''}`, 200),
      })
    return { ...base, ...opened, phase: 'Progressing', ...defined({ waitingFor }) }
  }
  if (counts.healthy === 0 || !isVouchedFor(clusters, seen)) {
    // Without a healthy cluster as evidence for the change, the next stage stays closed.
    const text =
      counts.healthy === 0
        ? `none of ${counts.total} clusters of the stage is healthy`
        : `none of the clusters that the release changes in the stage is healthy`
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

/**
 * A cluster that keeps its content, or leaves the fleet, proves nothing about the change in those that were skipped or failed. One that was passed over with the
 * same content before has no change to prove: otherwise a cluster that stays away would block every later release.
 */
function isVouchedFor(clusters: readonly ClusterStatus[], { clusters: seen }: ReleaseSeen): boolean {
  const staying = clusters.filter(({ name }) => seen.get(name)?.isLeaving !== true)
  return (
    staying.some(({ phase }) => phase === 'Healthy') ||
    staying.every(
      ({ name, phase }) => (phase !== 'Offline' && phase !== 'Failed') || seen.get(name)?.wasPassed === true,
    )
  )
}

/** Times have whole seconds: rounded up so that no soak is too short. */
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

/** After a restart nothing was queried yet: the clusters keep their soak, but its end needs an answer. */
const unaskedGate = ({ stage, seen, clusters }: Pick<AfterInput, 'stage' | 'seen' | 'clusters'>): Gate | undefined =>
  clusters.some((c) => c.phase === 'Healthy' && seen.clusters.get(c.name)?.isLeaving !== true)
    ? stage.gates?.find((gate) => isRemote(gate) && !seen.sight.checks.has(checkKey(stage.name, 'During', gate.name)))
    : undefined

/** All clusters are done: first the soak, counted from the last cluster that became healthy, then the gates after it. */
function afterClusters({ stage, seen, now, base, old, clusters }: AfterInput): StageStatus {
  const well = clusters.filter((c) => c.healthySince !== undefined)
  const soakMs = parseDuration(stage.minSuccessTime)
  // Content that was healthy there before needs no new soak.
  const fresh = well.filter((c) => seen.clusters.get(c.name)?.isReturn !== true)
  const until = fresh.length === 0 ? now : Math.max(...fresh.map((c) => soakUntil(c, stage)))
  const soaksUntil = timestamp(roundUp(until))
  const why = (predicate: Reason, value: string, unblock: string) =>
    wait(old?.waitingFor, now, predicate, value, unblock)
  if (seen.paused !== undefined)
    return {
      ...base,
      // A hold does not undo a failed gate.
      phase: !isRetried(seen) && keptRecords(old, 'After').length > 0 ? 'Failed' : 'Soaking',
      soakUntil: soaksUntil,
      waitingFor: why('HoldPause', seen.paused, 'the hold ends or is deleted'),
    }
  // Without a soak there is nothing to round up.
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
    const seenText = shortened(`${silent.name}: ${silent.waitingFor.seen ?? ''}`, 200)
    return { ...base, phase: 'Soaking', soakUntil: soaksUntil, waitingFor: { ...silent.waitingFor, seen: seenText } }
  }
  const unasked = unaskedGate({ stage, seen, clusters })
  if (unasked !== undefined)
    return {
      ...base,
      phase: 'Soaking',
      soakUntil: soaksUntil,
      waitingFor: why(
        'GateClosed',
        `${unasked.name}: no answer yet`,
        unblockOf(unasked, seen.release.metadata.name ?? ''),
      ),
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
  const text = state === 'Failed' ? failedText(closed, name) : closedText(closed, seen.release)
  const predicate = state === 'Failed' ? 'GateFailed' : 'GateClosed'
  return {
    ...done,
    phase: state === 'Failed' ? 'Failed' : 'Soaking',
    waitingFor: why(predicate, text.seen, text.unblock),
  }
}
