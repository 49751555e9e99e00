// One cluster's phases in a stage: from Waiting over Applying and Verifying to Healthy, Failed or Offline. Pure.
import type { Reason } from '#api/catalogue.ts'
import { stagePart } from '#api/protocol/part.ts'
import { timestamp } from '#lib/clock.ts'
import { assertNever } from '#lib/errors.ts'
import { formatDuration, parseDuration } from '#lib/duration.ts'
import { without } from '#lib/without.ts'
import { waitingSince } from '#runtime/waiting.ts'
import { UNBLOCKS, type UnreachableReason } from '../cluster/unreachable.ts'
import type { AdvanceInput, ClusterAnswer, ClusterStatus, SeenCluster } from './cluster-seen.ts'
import { cut, isOutside, judgementOf, recordedPrune, type Trouble, troubleIn } from './cluster-trouble.ts'
import type { Stage } from './gates.ts'
import { wait, type Blocked, type WaitingFor } from './waiting.ts'

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
      return input.member.answer?.kind === 'Seen' && troubleIn(input) === undefined && input.member.answer.isApplied
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

const healthy = (plain: Plain, now: number, digest: string, soaked = 0): ClusterStatus =>
  // Rounded up to the whole second of a timestamp, so that no soak is too short.
  moved(plain, 'Healthy', now, { digest, healthySince: timestamp(Math.ceil(now / 1_000) * 1_000 - soaked) })

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
  before: Plain,
  old: WaitingFor | undefined,
): ClusterStatus {
  const { answer, digest } = member
  // Sync may have been down since it recorded the start: nothing was applied in that time.
  const begun = before.phase === 'Applying' && old === undefined ? { ...before, since: timestamp(now) } : before
  const plain = answer?.kind === 'Seen' ? withoutSilence(begun, now, old) : begun
  // Time spent waiting for a decision does not count against the cluster.
  if (old?.predicate === 'PruneGuard' && answer?.kind === 'Seen' && answer.prune === undefined)
    return { ...plain, phase: 'Applying', since: timestamp(now) }
  const forMs = now - Date.parse(plain.since)
  const waits = (predicate: Reason, seen: string, unblock: string) => wait(old, now, predicate, seen, unblock)
  if (answer === undefined)
    return { ...plain, waitingFor: waits('Progressing', 'applying objects', 'its objects are applied') }
  if (answer.kind === 'Unreachable') {
    const waitingFor = waitForAnswer(old, now, answer, stage)
    if (isSilentTooLong(waitingFor, stage, now)) return offline(plain, now, answer.message)
    return { ...(isUncounted(old?.predicate) ? { ...plain, since: timestamp(now) } : plain), waitingFor }
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
  const trouble = troubleIn({ stage, member, now, ...input })
  if (plain.phase === 'Applying')
    return {
      ...moved(plain, 'Verifying', now, { digest, attempts: Math.min((plain.attempts ?? 0) + 1, 10_000) }),
      since: plain.since,
      ...endOfSoak(member, trouble, now),
    }
  if (trouble === undefined) {
    // Healthy in each pass of this release: the soak continues.
    const soaked = old === undefined && plain.attempts === 1 ? member.soaked : 0
    return { ...healthy(plain, now, digest, soaked), ...(member.isLeaving === true && { message: LEFT }) }
  }
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

/** Waits for a decision, a limit or a window: what comes after them has the whole deadline. */
const isUncounted = (predicate: string | undefined): boolean => predicate === 'PruneGuard' || isOutside(predicate)

/** Time in which the cluster could not be reached does not count against it. */
function withoutSilence(plain: Plain, now: number, old: WaitingFor | undefined): Plain {
  if (old === undefined || !SILENCE.has(old.predicate)) return plain
  return { ...plain, since: timestamp(Date.parse(plain.since) + Math.max(0, now - Date.parse(old.since))) }
}

const SILENCE: ReadonlySet<string> = new Set<UnreachableReason>([
  'ApiServerDown',
  'CredentialsInvalid',
  'ServerCertificateExpired',
])

/** An unhealthy cluster must become healthy again, and its soak restarts. */
function fromHealthy(input: AdvanceInput, at: ClusterStatus, plain: Plain): ClusterStatus {
  const { member, now } = input
  const { answer } = member
  if (answer === undefined) return at
  // Equal content that passed before is not judged again: current failures are older than the release.
  const isSettled = at.phase === 'Unchanged'
  if (answer.kind === 'Unreachable') return isSettled ? at : unseen(input, answer, at, plain)
  if (!answer.isApplied) return moved(plain, 'Applying', now)
  const trouble = troubleIn(input)
  if (trouble === undefined || (isSettled && !trouble.isFinal)) {
    const { waitingFor: _, ...rest } = at
    return rest
  }
  return moved(plain, 'Verifying', now, endOfSoak(member, trouble, now))
}

/** Recorded, so that the next pass knows that an earlier soak does not continue. */
function endOfSoak({ soaked = 0 }: SeenCluster, trouble: Trouble | undefined, now: number): Partial<ClusterStatus> {
  if (trouble === undefined || soaked === 0) return {}
  return { waitingFor: wait(undefined, now, trouble.predicate, trouble.seen, trouble.unblock) }
}

export function soakUntil({ healthySince }: Pick<ClusterStatus, 'healthySince'>, { minSuccessTime }: Stage): number {
  return healthySince === undefined ? 0 : Date.parse(healthySince) + parseDuration(minSuccessTime)
}

/** If a cluster becomes unreachable in its soak, it is not known to be healthy at the end. */
function unseen({ stage, now }: AdvanceInput, answer: Silence, at: ClusterStatus, plain: Plain): ClusterStatus {
  const waitingFor = waitForAnswer(at.waitingFor, now, answer, stage)
  return isSilentTooLong(waitingFor, stage, now) ? offline(plain, now, answer.message) : { ...at, waitingFor }
}

/** Counted from the last answer, not from the start of the work: that may wait for people much longer than a server restarts. */
const isSilentTooLong = ({ since }: Blocked, { offlineDeadline }: Stage, now: number): boolean =>
  now - Date.parse(since) >= parseDuration(offlineDeadline)

type Silence = ClusterAnswer & { kind: 'Unreachable' }

/** A server that stops responding and then refuses is one silence. */
const SILENT: ReadonlySet<string> = new Set(Object.keys(UNBLOCKS))

const waitForAnswer = (
  old: WaitingFor | undefined,
  now: number,
  { because, message }: Silence,
  { offlineDeadline }: Stage,
): Blocked => {
  const unblock = `${UNBLOCKS[because]}, or ${offlineDeadline} pass and it is skipped`
  return waitingSince(old, { predicate: because, seen: message, unblock, sameAs: SILENT }, now)
}
