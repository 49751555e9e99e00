// One cluster's phases in a stage: from Waiting over Applying and Verifying to Healthy, Failed or Offline. Pure.
import { without } from '#lib/without.ts'
import type { Reason } from '#api/catalogue.ts'
import type { Baseline } from '#api/kinds/inventory.ts'
import type { ReleaseStatus } from '#api/kinds/release.ts'
import { HUB_TARGET } from '#api/names.ts'
import { stagePart } from '#api/protocol/part.ts'
import { timestamp } from '#lib/clock.ts'
import { counted } from '#lib/counted.ts'
import { assertNever } from '#lib/errors.ts'
import { formatDuration, parseDuration } from '#lib/duration.ts'
import { shortened } from '#lib/shortened.ts'
import type { Failure, OutsideWait } from '#delivery/failures.ts'
import type { HeldPrune } from '#delivery/plan.ts'
import type { RecordedSwitches } from '../cluster/switches.ts'
import { UNBLOCKS, type UnreachableReason } from '../cluster/unreachable.ts'
import { judgeFailures, type Judgement } from './baseline.ts'
import type { Taken } from '#runtime/background-reads.ts'
import type { CheckResult } from '#runtime/outbound/external-checks.ts'
import {
  isRemote,
  judgeGate,
  unblockOf,
  type Approver,
  type ClusterReadings,
  type Finding,
  type Stage,
} from './gates.ts'
import type { Content } from './live-clusters.ts'
import type { Risk } from './risk.ts'
import { wait, type Blocked, type WaitingFor } from './waiting.ts'
import { someOf } from '#lib/some-of.ts'

export type ClusterStatus = NonNullable<ReleaseStatus['clusters']>[number]

export interface SeenCluster {
  readonly name: string
  /** Absent when the hub no longer has this Cluster. */
  readonly labels: Readonly<Record<string, string>> | undefined
  /** The stage that it stays in, because the release changes its Cluster there. */
  readonly stage?: string | undefined
  /** Absent for the hub itself. */
  readonly content?: Content | undefined
  readonly digest: string
  /** The commit removes its Cluster. Nothing in the cluster is read or judged any more. */
  readonly isLeaving?: boolean
  /** The Cluster is being deleted: if it is recreated, it has none of its earlier content. */
  readonly isDeleting?: boolean
  /** The release is a revert to content that was healthy there: no soak, no small steps. */
  readonly isReturn?: boolean
  /** The release restores what passed there last, while other content is still being rolled out. Its message need not name a revert. */
  readonly isUnderway?: boolean
  /** Differences between its Cluster on the hub and the declared one that need an Approval first. */
  readonly risks?: readonly Risk[]
  /** The result of the last pass; absent before the first. */
  readonly answer?: ClusterAnswer | undefined
  /** The cluster's content from previous releases, if it passed its stage. */
  readonly previous?: { readonly digest: string; readonly healthySince: string } | undefined
}

export type ClusterAnswer =
  | { readonly kind: 'Unreachable'; readonly because: UnreachableReason; readonly message: string }
  | {
      readonly kind: 'Seen'
      /** The report is about its Cluster on the hub: nothing in the cluster was read yet. */
      readonly isOfPlane?: true
      /** The objects of this release are applied. */
      readonly isApplied: boolean
      readonly failures: readonly string[]
      /** Unhealthy objects, whether or not this release caused it. */
      readonly failing: readonly Failure[]
      /** The number of machines, for limits in percent. */
      readonly machines: number
      /** What was failing before this release; absent: no earlier failures are known. */
      readonly baseline: Baseline | undefined
      readonly readings: ClusterReadings
      /** Deletions that wait for an Approval. */
      readonly prune?: WaitingPrune | undefined
      /** How long switches took recently, from its sets. */
      readonly switches?: readonly RecordedSwitches[]
    }

/** Approved deletions wait for the hub's Defender; the permit is named. */
type WaitingPrune = HeldPrune & {
  readonly waits?: { readonly permit?: string; readonly seen: string; readonly unblock: string }
}

export interface AdvanceInput {
  readonly stage: Stage
  readonly member: SeenCluster
  readonly before: ClusterStatus | undefined
  readonly now: number
  /** The stage has room for another cluster. */
  readonly mayStart: boolean
  /** Why the stage may not start any cluster. */
  readonly blocked: Blocked | undefined
  readonly approvedBy: readonly Approver[]
  /** Answers of other systems, by gate. */
  readonly checks: ReadonlyMap<string, Taken<CheckResult>>
  /** Gates whose query to another system has no answer yet. */
  readonly pending: ReadonlySet<string>
  /** Results of custom rules here, by gate. */
  readonly rules: ReadonlyMap<string, Finding>
  /** A user requests a retry of the failed work. */
  readonly isRetried: boolean
  /** The release's name, for commands. */
  readonly release: string
}

export const isAtWork = (c: Pick<ClusterStatus, 'phase'> | undefined): boolean =>
  c?.phase === 'Applying' || c?.phase === 'Verifying'

/** Skipped clusters count as done: they catch up later. */
export const isDone = (c: Pick<ClusterStatus, 'phase'>): boolean =>
  c.phase === 'Healthy' || c.phase === 'Unchanged' || c.phase === 'Offline' || c.phase === 'Failed'

export function advanceCluster(input: AdvanceInput): ClusterStatus {
  const next = withContent(advance(input), input)
  const { answer } = input.member
  const judged = answer?.kind === 'Seen' && answer.isOfPlane === true ? undefined : judgementOf(input)
  return judged === undefined ? next : { ...next, failures: { before: judged.before, new: judged.fresh } }
}

/** The content when the work started. If it has changed by then, the next pass starts over. */
const withContent = (next: ClusterStatus, { before, member }: AdvanceInput): ClusterStatus =>
  next.phase === 'Waiting' || before?.uid !== undefined ? next : { ...next, ...member.content }

function advance(input: AdvanceInput): ClusterStatus {
  const { stage, member, before, now, isRetried } = input
  const at = before ?? { name: member.name, stage: stage.name, phase: 'Waiting' as const, since: timestamp(now) }
  const plain = without(at, 'waitingFor', 'message', 'prune')
  switch (at.phase) {
    case 'Waiting':
      return fromWaiting(input, { ...plain, stage: stage.name }, at.waitingFor)
    case 'Applying':
    case 'Verifying':
      // The pass had no time for it: nothing new is known.
      if (member.answer === undefined && at.waitingFor !== undefined) return at
      return fromWork(input, plain, at.waitingFor)
    case 'Healthy':
    case 'Unchanged':
      return fromHealthy(input, at, plain)
    case 'Failed':
      if (isRetried) return moved(plain, 'Applying', now)
      return input.member.answer?.kind === 'Seen' && isWell(input) === undefined && input.member.answer.isApplied
        ? healthy(plain, now, member.digest)
        : at
    case 'Offline':
      return input.member.answer?.kind === 'Seen' ? moved(plain, 'Applying', now) : at
    default:
      return assertNever(at.phase)
  }
}

const LEFT = 'the commit removed this cluster from the fleet; its Cluster was deleted, or is no longer managed'

type Plain = Omit<ClusterStatus, 'waitingFor' | 'message' | 'prune'>

const moved = (
  plain: Plain,
  phase: ClusterStatus['phase'],
  now: number,
  more: Partial<ClusterStatus> = {},
): ClusterStatus => {
  const { healthySince: _, ...rest } = plain
  return { ...rest, phase, since: timestamp(now), ...more }
}

const healthy = (plain: Plain, now: number, digest: string): ClusterStatus =>
  // Rounded up to the whole second of a timestamp, so that no soak is too short.
  moved(plain, 'Healthy', now, { digest, healthySince: timestamp(Math.ceil(now / 1_000) * 1_000) })

/** The stage continues without it. Its later content was never observed for a soak, so no later release may treat it as passed. */
const offline = (plain: Plain, now: number, message: string): ClusterStatus =>
  moved(plain, 'Offline', now, { message: cut(message), skipped: true })

function fromWaiting(
  { stage, member, now, mayStart, blocked }: AdvanceInput,
  plain: Plain,
  old: WaitingFor | undefined,
): ClusterStatus {
  const { previous, digest } = member
  if (blocked !== undefined)
    return { ...plain, waitingFor: wait(old, now, blocked.predicate, blocked.seen ?? '', blocked.unblock ?? '') }
  // Equal content that already passed: nothing to do.
  if (
    previous !== undefined &&
    previous.digest === digest &&
    plain.attempts === undefined &&
    member.isDeleting !== true
  )
    return { ...plain, phase: 'Unchanged', digest, since: timestamp(now), healthySince: previous.healthySince }
  if (mayStart) return moved(plain, 'Applying', now)
  const text = `${stagePart(stage.name)} has reached its concurrency limit`
  return { ...plain, waitingFor: wait(old, now, 'ConcurrencyLimit', text, 'another cluster of the stage is healthy') }
}

function fromWork(
  { stage, member, now, ...input }: AdvanceInput,
  plain: Plain,
  old: WaitingFor | undefined,
): ClusterStatus {
  const { answer, digest } = member
  // Time spent waiting for a decision does not count against the cluster.
  if (old?.predicate === 'PruneGuard' && answer?.kind === 'Seen' && answer.prune === undefined)
    return { ...plain, phase: 'Applying', since: timestamp(now) }
  const forMs = now - Date.parse(plain.since)
  const waits = (predicate: Reason, seen: string, unblock: string) => wait(old, now, predicate, seen, unblock)
  if (answer === undefined)
    return { ...plain, waitingFor: waits('Progressing', 'applying objects', 'its objects are applied') }
  if (answer.kind === 'Unreachable') {
    if (forMs >= parseDuration(stage.offlineDeadline)) return offline(plain, now, answer.message)
    return { ...plain, waitingFor: waitForAnswer(old, now, answer.because, answer.message, stage) }
  }
  const isLate = forMs >= parseDuration(stage.progressDeadline)
  if (!answer.isApplied) {
    const message = answer.failures[0] ?? 'not applied yet'
    if (isLate) return moved(plain, 'Failed', now, { message: cut(message) })
    return {
      ...plain,
      phase: 'Applying',
      waitingFor: waits('ApplyFailed', message, 'a commit corrects or reverts what is refused, or it is accepted'),
    }
  }
  if (plain.phase === 'Applying')
    return {
      ...moved(plain, 'Verifying', now, { digest, attempts: Math.min((plain.attempts ?? 0) + 1, 10_000) }),
      since: plain.since,
    }
  const trouble = isWell({ stage, member, now, ...input })
  if (trouble === undefined)
    return { ...healthy(plain, now, digest), ...(member.isLeaving === true && { message: LEFT }) }
  if (trouble.isFinal) return moved(plain, 'Failed', now, { digest, message: cut(trouble.seen) })
  const { prune } = answer
  if (trouble.predicate === 'PruneGuard' && prune !== undefined)
    return {
      ...plain,
      prune: recordedPrune(prune),
      waitingFor: waits(trouble.predicate, trouble.seen, trouble.unblock),
    }
  // Time in which the Defender grants nothing more, or a user holds it, does not count either: the deadline starts when that ends.
  if (isOutside(trouble.predicate))
    return { ...plain, waitingFor: waits(trouble.predicate, trouble.seen, trouble.unblock) }
  if (isOutside(old?.predicate))
    return { ...plain, since: timestamp(now), waitingFor: waits(trouble.predicate, trouble.seen, trouble.unblock) }
  // A gate's time starts with its first check, after its objects are healthy.
  const closedMs = old?.predicate === 'GateClosed' ? now - Date.parse(old.since) : 0
  if (trouble.isPending !== true && (isLate || closedMs >= trouble.timeoutMs))
    return moved(plain, 'Failed', now, {
      digest,
      message: cut(`not healthy after ${formatDuration(forMs)}: ${trouble.seen}`),
    })
  return { ...plain, waitingFor: waits(trouble.predicate, trouble.seen, trouble.unblock) }
}

/** An unhealthy cluster must become healthy again, and its soak restarts. */
function fromHealthy(input: AdvanceInput, at: ClusterStatus, plain: Plain): ClusterStatus {
  const { member, now } = input
  const { answer } = member
  if (answer === undefined) return at
  // Equal content that passed before is not judged again: current failures are older than the release.
  const isSettled = at.phase === 'Unchanged'
  if (answer.kind === 'Unreachable') return isSettled ? at : unseen(input, answer, at, plain)
  if (!answer.isApplied) return moved(plain, 'Applying', now)
  const trouble = isWell(input)
  if (trouble === undefined || (isSettled && !trouble.isFinal)) {
    const { waitingFor: _, ...rest } = at
    return rest
  }
  return moved(plain, 'Verifying', now)
}

export function soakUntil({ healthySince }: Pick<ClusterStatus, 'healthySince'>, { minSuccessTime }: Stage): number {
  return healthySince === undefined ? 0 : Date.parse(healthySince) + parseDuration(minSuccessTime)
}

/** If a cluster becomes unreachable in its soak, it is not known to be healthy at the end. */
function unseen(
  { stage, now }: AdvanceInput,
  { because, message }: ClusterAnswer & { kind: 'Unreachable' },
  at: ClusterStatus,
  plain: Plain,
): ClusterStatus {
  const waitingFor = waitForAnswer(at.waitingFor, now, because, message, stage)
  return now - Date.parse(waitingFor.since) >= parseDuration(stage.offlineDeadline)
    ? offline(plain, now, message)
    : { ...at, waitingFor }
}

const waitForAnswer = (
  old: WaitingFor | undefined,
  now: number,
  because: UnreachableReason,
  message: string,
  { offlineDeadline }: Stage,
): Blocked => wait(old, now, because, message, `${UNBLOCKS[because]}, or ${offlineDeadline} pass and it is skipped`)

const MAX_SEEN = 200

/** A commit with another version ends the wait too. */
export const LIFT = 'run kubenode brake lift --reason WHY'

/** What ends each wait. */
const OUTSIDE: Readonly<Record<OutsideWait, (cluster: string) => string>> = {
  RateExceeded: () => 'the rate limit allows the next machines',
  WaitingForWindow: () => 'its window opens',
  OutsideWindow: () => 'a window of the policy opens',
  BlackoutActive: () => 'the blackout of the policy ends',
  FleetBudget: () => 'another cluster of the fleet has finished',
  FleetStopped: () => LIFT,
  ControlPlaneChanging: (cluster) => `its change ends: kubenode cluster show ${cluster}`,
  // The hold is on another server than the release.
  HoldPause: (cluster) =>
    `the hold ends, or kubenode thaw or resume lifts it there: kubenode get holds --context ${cluster} lists it`,
}

/** The permit is in the cluster and the release on the hub, so a command about the permit names the cluster. */
const atPermitOf = (cluster: string, unblock: string | undefined): string | undefined =>
  cluster === HUB_TARGET
    ? unblock
    : unblock?.replace(/\boperationpermit\/[\w.-]+( --reason WHY)?/g, (command) => `${command} --context ${cluster}`)

const isOutside = (predicate: string | undefined): boolean =>
  predicate !== undefined && Object.hasOwn(OUTSIDE, predicate)

interface Trouble {
  readonly predicate: Reason
  readonly seen: string
  readonly unblock: string
  /** Waiting does not fix it. */
  readonly isFinal: boolean
  /** The answer is pending: the deadline waits for it. */
  readonly isPending?: boolean
  readonly timeoutMs: number
}

function judgementOf({ stage, member: { answer } }: Pick<AdvanceInput, 'stage' | 'member'>): Judgement | undefined {
  if (answer?.kind !== 'Seen') return undefined
  return judgeFailures(answer.failing, answer.baseline, countOf(stage.maxNewFailures, answer.machines))
}

function isWell(input: AdvanceInput): Trouble | undefined {
  const { stage, member, now, approvedBy, checks, pending, rules, before } = input
  const { answer } = member
  const health = judgementOf(input)
  if (answer?.kind !== 'Seen' || health === undefined) return undefined
  if (answer.prune !== undefined && health.state !== 'Failed')
    return {
      predicate: 'PruneGuard',
      seen: pruneWaitText(answer.prune),
      unblock: atPermitOf(member.name, answer.prune.waits?.unblock) ?? `digest ${answer.prune.digest} is approved`,
      isFinal: false,
      timeoutMs: Number.POSITIVE_INFINITY,
    }
  if (health.state !== 'Current')
    return {
      predicate: health.outside ?? 'Progressing',
      seen: health.message,
      unblock: health.outside === undefined ? 'its objects become healthy' : OUTSIDE[health.outside](member.name),
      isFinal: health.state === 'Failed',
      timeoutMs: Number.POSITIVE_INFINITY,
    }
  if (member.isLeaving === true) return undefined
  for (const gate of stage.gates ?? []) {
    const checked = checks.get(gate.name)
    // After a restart nothing was queried yet: a cluster that passed keeps its soak until the answer arrives.
    if (isRemote(gate) && checked === undefined && before?.phase === 'Healthy') continue
    // An answer from before the change does not count.
    const isFresh = before?.phase === 'Healthy' || (checked?.at ?? 0) >= Date.parse(before?.since ?? '')
    const facts = {
      now,
      approvedBy,
      baseline: answer.baseline,
      check: isFresh ? checked?.value : undefined,
      rule: rules.get(gate.name),
    }
    const { holds, seen, timeoutMs } = judgeGate(gate, answer.readings, facts)
    if (!holds)
      return {
        predicate: 'GateClosed',
        seen: cut(`${gate.name}: ${seen}`),
        unblock: cut(unblockOf(gate, input.release)),
        isFinal: false,
        isPending: pending.has(gate.name),
        timeoutMs,
      }
  }
  return undefined
}

/** Rounds down: the safe side for all limits. */
export const countOf = (value: number | `${number}%`, size: number): number =>
  typeof value === 'number' ? value : Math.floor((Number(value.slice(0, -1)) * size) / 100)

const MOST_NAMED = 3

export function pruneText({ count, allowed, first, clusters = [], machines, allowedMachines }: HeldPrune): string {
  const lost = clusters.length < 2 ? '' : `; among them are the clusters ${someOf(clusters, MOST_NAMED)}`
  // The guard allows this number of objects: it blocks because machines could not be counted.
  if (machines === undefined && count <= allowed)
    return `${counted(count, 'object')} would be deleted with machines whose number is not known, the first is ${first}${lost}`
  if (machines === undefined)
    return `${counted(count, 'object')} would be deleted (limit ${allowed}), the first is ${first}${lost}`
  const limits = `${counted(machines, 'machine')} (limit ${allowedMachines ?? 0}) and ${counted(count, 'object')} (limit ${allowed})`
  return `${limits} would be deleted, the first is ${first}${lost}`
}

const pruneWaitText = (prune: WaitingPrune): string =>
  prune.waits === undefined ? pruneText(prune) : cut(`approved; ${prune.waits.seen}; ${pruneText(prune)}`)

/** The form in the Release's status. */
function recordedPrune({ waits, ...prune }: WaitingPrune): NonNullable<ClusterStatus['prune']> {
  const { isApproved: _, ...held } = prune
  return waits?.permit === undefined ? held : { ...held, permit: waits.permit }
}

const cut = (text: string): string => shortened(text, MAX_SEEN)
