// Reconciles one job: decides from caches, decides again with fresh reads from the server before it acts, acts, and records what became of it.
import type { Machine } from '#api/kinds/machine.ts'
import type { OperationPermit } from '#api/kinds/operation-permit.ts'
import { type RemedyOperationJob, remedyOperationJob } from '#api/kinds/remedy-operation-job.ts'
import { FIELD_MANAGERS } from '#api/names.ts'
import type { EventRecorder } from '#kube/events.ts'
import { isOlder } from '#kube/resource-version.ts'
import type { Clock } from '#lib/clock.ts'
import { KubeNodeError, messageOf } from '#lib/errors.ts'
import { jsonEqual } from '#lib/json.ts'
import { isRenewalDue } from '#permits/permits.ts'
import type { ReconcileContext } from '#runtime/controller.ts'
import { blindFor } from '#runtime/informers.ts'
import { type Outcome, doneOrAfter, requeueAfter, retry } from '#runtime/outcome.ts'
import { writeStatus } from '#runtime/write-status.ts'
import type { act } from './act.ts'
import type { Asking } from './asking.ts'
import { attemptOf, begunBy } from './begun.ts'
import type { JobCaches } from './caches.ts'
import type { JobTools } from './steps/step-tools.ts'
import type { JobAction, JobPlan, StepResult } from './actions.ts'
import { GATHER_MS, type Observer } from './observe.ts'
import type { plan } from './plan.ts'
import { remedyjobErrors } from './remedyjob-errors.ts'
import { type JobStatus, type Seen, nameOf, phaseOf } from './seen.ts'
import { settle } from './settle.ts'
import { type Went, ownStatus } from './status.ts'

/** The parts that decide and act; tests replace them with ones that have a bug. */
export interface JobParts {
  readonly plan: typeof plan
  readonly act: typeof act
}

export interface JobReconcilerDeps {
  readonly parts: JobParts
  readonly tools: JobTools
  readonly clock: Clock
  readonly caches: JobCaches
  readonly observer: Observer
  readonly asking: Asking
  readonly events: EventRecorder
}

const fieldManager = FIELD_MANAGERS.remedyJob
/** Plans in one reconcile of a job; a rung has eight operations, of which few are central. */
const MOST_TURNS = 8
/** How long data read from the server counts as fresh. */
const FRESH_MS = 500
/** Actions that are answered with the permit as it is now. */
const OF_PERMITS: ReadonlySet<JobAction['kind']> = new Set(['RequestPermit', 'RenewPermit', 'ReportResult'])

export class JobReconciler {
  readonly #deps: JobReconcilerDeps

  constructor(deps: JobReconcilerDeps) {
    this.#deps = deps
  }

  async reconcile(name: string, { signal, log: line }: ReconcileContext): Promise<Outcome> {
    const { parts, clock, observer } = this.#deps
    let decided
    try {
      decided = await this.#decide(name, signal)
    } catch (error) {
      const ms = blindFor(error)
      if (ms === undefined) throw error
      return requeueAfter(ms)
    }
    if (typeof decided === 'number') return requeueAfter(decided)
    if (decided === undefined) return doneOrAfter(undefined)
    const readAt = clock.monotonic()
    // Continue at once with a repair that has begun, while the data just read is still fresh.
    for (let turn = 1; ; turn++) {
      const { planned } = decided
      const { went, failure, permit = decided.seen.permit } = await this.#carryOut(decided.seen, planned, signal, line)
      const seen = await observer.lookAhead({ ...decided.seen, permit }, went.result, signal)
      const { status, last } = settle(parts.plan, { seen, planned, went, now: clock.now() })
      const written = await this.#record(seen, status, signal)
      if (failure !== undefined) return retry(failure)
      if (written.kind === 'Failed') return retry(written.error)
      const goesOn = went.result !== undefined && went.result.went.outcome === undefined
      if (written.kind === 'Same' || goesOn || !seen.isFresh || isAtRest(last))
        return doneOrAfter(againMs(seen, last, went))
      if (turn >= MOST_TURNS || clock.monotonic() - readAt > FRESH_MS) return requeueAfter(0)
      const next = await observer.goOn(seen, written.job, signal)
      decided = { seen: next, planned: parts.plan(next, clock.now()) }
    }
  }

  /** A number: not now, but after this many milliseconds. */
  async #decide(name: string, signal: AbortSignal): Promise<Decided | number | undefined> {
    const { parts, clock, observer, asking } = this.#deps
    const seen = await observer.observe(name)
    if (seen === undefined) return undefined
    const planned = parts.plan(seen, clock.now())
    if (planned.needsFresh !== true) return { seen, planned }
    const mayWait = phaseOf(seen.job) === 'AwaitingPermit' && !isLeaseShort(seen, clock.now())
    const putOffMs = mayWait ? asking.putOffMs(name) : undefined
    if (putOffMs !== undefined) return putOffMs
    const fresh = await observer.observeFresh(name, signal)
    return fresh && { seen: fresh, planned: parts.plan(fresh, clock.now()) }
  }

  async #carryOut(
    seen: Seen,
    planned: JobPlan,
    signal: AbortSignal,
    line: ReconcileContext['log'],
  ): Promise<{ readonly went: Went; readonly failure?: unknown; readonly permit?: OperationPermit | undefined }> {
    const { parts, tools, observer, caches } = this.#deps
    let went: Went = {}
    let permit: OperationPermit | undefined
    for (const action of planned.actions) {
      // Another job of the machine has been listed since: this is decided again on what is listed now.
      if (action.kind === 'ListJobs' && this.#isListedAnew(action.machine)) continue
      if (action.kind === 'DoStep') observer.noteDone(seen.job, attemptOf(action.step))
      const outcome = await parts.act(tools, action, seen, signal)
      line.info('acted', { action: action.kind, reason: action.reason, outcome: outcome.kind })
      if (outcome.kind !== 'Applied') {
        const failure = troubleOf(action, outcome)
        return { went: { trouble: messageOf(failure) }, failure }
      }
      if (OF_PERMITS.has(action.kind)) permit = outcome.object as OperationPermit | undefined
      if (action.kind === 'ListJobs') caches.machines.assume(outcome.object as Machine)
      if (action.kind === 'DoStep') went = { result: { step: action.step, went: outcome.object as StepResult } }
    }
    return { went, permit }
  }

  #isListedAnew({ metadata, spec }: Machine): boolean {
    const { caches } = this.#deps
    const now = caches.machines.get(nameOf({ metadata }))
    const isNewer = now !== undefined && isOlder(metadata.resourceVersion, now.metadata.resourceVersion)
    return isNewer && !jsonEqual(spec.jobs, now.spec.jobs)
  }

  /** Under the version that was decided about: what another process wrote since is never overwritten. */
  async #record(seen: Seen, status: JobStatus, signal: AbortSignal): Promise<Written> {
    const { tools, observer, caches, events } = this.#deps
    const { job } = seen
    const shared = { before: ownStatus(seen), over: 'Version' } as const
    const written = await writeStatus({
      client: tools.client,
      type: remedyOperationJob,
      cache: caches.jobs,
      object: job,
      status,
      fieldManager,
      signal,
      shared,
    })
    if (written === undefined) return { kind: 'Same' }
    if (written.kind !== 'Applied') return { kind: 'Failed', error: written.error }
    for (const attempt of begunBy(status, job)) observer.noteBegun(job, attempt)
    if (status.outcome !== undefined && job.status?.outcome === undefined)
      events.record(job, {
        type: status.outcome === 'Permanent' ? 'Warning' : 'Normal',
        reason: status.outcome,
        action: 'Repair',
        note: status.message ?? '',
      })
    return { kind: 'Written', job: written.object }
  }
}

interface Decided {
  readonly seen: Seen
  readonly planned: JobPlan
}

type Written =
  | { readonly kind: 'Same' }
  | { readonly kind: 'Written'; readonly job: RemedyOperationJob }
  | { readonly kind: 'Failed'; readonly error: unknown }

/** Nothing to do now: the job waits, or is over. */
const isAtRest = ({ waiting, needsFresh, actions, change }: JobPlan): boolean =>
  waiting !== undefined && needsFresh !== true && actions.length === 0 && change === undefined

const isLeaseShort = ({ permit }: Seen, now: number): boolean => permit !== undefined && isRenewalDue(permit, now)

const isBeginning = ({ job }: Seen): boolean => phaseOf(job) === 'Pending' || phaseOf(job) === 'AwaitingPermit'

const againMs = (seen: Seen, { requeueAfter, needsFresh }: JobPlan, { result }: Went): number | undefined => {
  if (needsFresh === true) return 0
  // Of a thousand that ripen, each is reconciled once, when it is ripe. Any change in between wakes it anyway.
  const isRipening = requeueAfter !== undefined && !seen.isRipe && isBeginning(seen)
  const ms = isRipening ? Math.max(requeueAfter, GATHER_MS) : requeueAfter
  const sooner = result?.went.againMs
  return sooner === undefined ? ms : Math.min(ms ?? sooner, sooner)
}

function troubleOf(action: JobAction, outcome: Exclude<Awaited<ReturnType<typeof act>>, { kind: 'Applied' }>): unknown {
  if ('error' in outcome) return outcome.error
  const why = outcome.kind === 'Outdated' ? outcome.reason : 'not tried'
  return new KubeNodeError(remedyjobErrors.KN12003({ kind: action.kind, why }), { retry: 'now' })
}
