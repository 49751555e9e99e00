// Decides the next step of a join over SSH: Reach, Preflight, Fetch, Start, Certified. Pure. Everything that it needs is in the Machine, so that a join
// continues after any interruption, and each step can be repeated.
import type { SshJoin, SshSessionStep } from '#api/kinds/machine.ts'
import { ANNOTATIONS } from '#api/names.ts'
import { isBeingDeleted } from '#api/schema/object-meta.ts'
import { timestamp } from '#lib/clock.ts'
import { defined } from '#lib/defined.ts'
import { counted } from '#lib/counted.ts'
import { acceptedKey } from '#ssh/login/target-of.ts'
import { serverOf } from '#api/protocol/ssh-server.ts'
import type { JoinPlan, JoinStep } from './actions.ts'
import { type Failure, type Others, type Seen, isCertified, requestOf } from './seen.ts'

/** Reach and Preflight run one short script; Fetch downloads about 50 MB; Start waits until the agent has been let in. */
export const LIMIT_MS: Readonly<Record<JoinStep, number>> = {
  Reach: 30_000,
  Preflight: 30_000,
  Fetch: 180_000,
  Start: 60_000,
  Certified: 60_000,
}

const NEXT: Readonly<Record<SshSessionStep, JoinStep>> = {
  Reach: 'Preflight',
  Preflight: 'Fetch',
  Fetch: 'Start',
  Start: 'Certified',
}

/** Attempts at a step before the join is tried again from the start, much later. */
const ATTEMPTS = 3
const RETRY_MS = 10_000
/** A host may be switched on only tomorrow. */
const LATER_MS = 600_000

/** Pass by themselves. All others need a change at the host, in the Machine or in the Secret. */
const PASSING: ReadonlySet<Failure> = new Set<Failure>(['Unreachable', 'Busy', 'TimedOut'])
/** In these steps, a failed preflight check is usually a download that failed. */
const REPEATED: ReadonlySet<JoinStep> = new Set<JoinStep>(['Fetch', 'Start'])

/** Five failures of one kind among few hosts with one login have one cause, such as a wrong key: trying it on all hosts would not help. */
const STOP_AT_FAILURES = 5
const STOP_AT_SHARE = 0.2
const PAUSE_MS = 30_000
const PAUSED = 'paused: '

export function plan(seen: Seen, now: number): JoinPlan {
  const { machine, ssh } = seen
  const before = machine.status?.join
  const nothing = { actions: [], notices: [] }
  if (isBeingDeleted(machine) || machine.spec.channel !== 'Agent' || machine.spec.provider === undefined) return nothing
  if (isCertified(machine))
    return before === undefined || before.finished !== undefined
      ? nothing
      : { ...nothing, join: finished(before, now), notices: [{ reason: 'JoinComplete', message: 'joined over SSH' }] }
  const request = requestOf(machine, ssh)
  // A host that left, or a changed spec, starts from the beginning.
  const join = before?.request === request && before.finished === undefined ? before : fresh(seen, request, now)
  const { step, reason, retryAt } = join
  if (reason !== undefined && retryAt === undefined) return nothing
  const leftMs = retryAt === undefined ? 0 : Date.parse(retryAt) - now
  if (leftMs > 0) return { ...nothing, requeueAfter: leftMs }
  if (step === 'Certified') return awaited(join, now)
  // Only hosts that were not tried yet wait: one that was reached continues.
  const paused = step === 'Reach' && reason === undefined ? stopLoss(seen.others) : undefined
  if (paused !== undefined && join.message?.startsWith(PAUSED) === true) return { ...nothing, requeueAfter: PAUSE_MS }
  if (paused !== undefined)
    return {
      ...nothing,
      join: { ...join, message: paused, retryAt: timestamp(now + PAUSE_MS) },
      requeueAfter: PAUSE_MS,
    }
  const running = { ...join, since: timestamp(now) }
  return {
    actions: [{ kind: 'RunStep', step, join: running, reason: `step ${step}, attempt ${join.attempt}` }],
    notices: [],
  }
}

function fresh({ machine, ssh }: Seen, request: string, now: number): SshJoin {
  const hostKey = acceptedKey(ssh, machine.status?.join)
  return {
    step: 'Reach',
    attempt: 1,
    began: timestamp(now),
    since: timestamp(now),
    request,
    server: serverOf(ssh),
    // A key that was accepted once stays pinned, for its own server.
    ...defined({ hostKey }),
  }
}

/** Why no further host is tried. */
export function stopLoss({ tried, failed }: Others): string | undefined {
  for (const [reason, count] of failed)
    if (count >= STOP_AT_FAILURES && count > tried * STOP_AT_SHARE)
      return `${PAUSED}${count} of ${counted(tried, 'host')} with this login failed with ${reason}; correct the cause, then set annotation ${ANNOTATIONS.joinAgain} on them`
  return undefined
}

const withoutFailure = (join: SshJoin): SshJoin => {
  const { reason: _reason, message: _message, retryAt: _retryAt, ...rest } = join
  return rest
}

const finished = (join: SshJoin, now: number): SshJoin => ({
  ...withoutFailure(join),
  step: 'Certified',
  since: timestamp(now),
  finished: timestamp(now),
})

function awaited(join: SshJoin, now: number): JoinPlan {
  const leftMs = Date.parse(join.since) + LIMIT_MS.Certified - now
  if (leftMs > 0) return { actions: [], notices: [], requeueAfter: leftMs }
  const why = 'the agent was started and has no certificate; see journalctl -u kubenode-agent on the host'
  const failed = afterFailure({ ...join, step: 'Start' }, 'TimedOut', why, now)
  return { actions: [], notices: [], join: failed, requeueAfter: RETRY_MS }
}

/** What a session came to. NotReady: the machine has no join token yet, which is no failure of its host. */
export type StepResult =
  | { readonly kind: 'Done'; readonly hostKey: string | undefined; readonly rescue?: boolean }
  | { readonly kind: 'NotReady'; readonly why: string }
  | { readonly kind: 'Failed'; readonly failure: Failure; readonly why: string }

/** The approver and the machine controller prepare the token within seconds. */
const NOT_READY_MS = 2_000

export function afterStep(join: SshJoin, result: StepResult, now: number): SshJoin {
  const { hostKey = result.kind === 'Done' ? result.hostKey : undefined } = join
  switch (result.kind) {
    case 'Done':
      if (join.step === 'Certified') return join
      return {
        ...withoutFailure(join),
        ...defined({ hostKey }),
        ...(join.step === 'Start' && { rescue: result.rescue === true }),
        step: NEXT[join.step],
        // Start is repeated until its agent is certified.
        attempt: join.step === 'Start' ? join.attempt : 1,
        since: timestamp(now),
      }
    case 'NotReady':
      return { ...withoutFailure(join), message: result.why, retryAt: timestamp(now + NOT_READY_MS) }
    case 'Failed':
      return afterFailure(join, result.failure, result.why, now)
    default:
      return result satisfies never
  }
}

function afterFailure(join: SshJoin, reason: Failure, message: string, now: number): SshJoin {
  const failed = { ...withoutFailure(join), since: timestamp(now), reason, message }
  if (!PASSING.has(reason) && !(reason === 'PreflightFailed' && REPEATED.has(join.step))) return failed
  if (join.attempt < ATTEMPTS)
    return { ...failed, attempt: join.attempt + 1, retryAt: timestamp(now + RETRY_MS * 2 ** (join.attempt - 1)) }
  // The host may be another one by then, so its key and its system are checked again.
  return { ...failed, step: 'Reach', attempt: 1, retryAt: timestamp(now + LATER_MS) }
}
