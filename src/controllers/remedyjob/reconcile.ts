// The job controller. Decides about one job from caches, decides again with fresh reads from the server before it acts, acts, and records the result.
// While its reads and writes are fresh it continues with them, through several phases in one reconcile. That is why it cannot use `reconcileWith`.
import type { Machine } from '#api/kinds/machine.ts'
import type { OperationPermit } from '#api/kinds/operation-permit.ts'
import { type RemedyOperationJob, remedyOperationJob } from '#api/kinds/remedy-operation-job.ts'
import { FIELD_MANAGERS } from '#api/names.ts'
import { nameOf } from '#api/schema/object-meta.ts'
import type { EventRecorder } from '#kube/events.ts'
import { isOlder } from '#kube/resource-version.ts'
import type { Clock } from '#lib/clock.ts'
import { defined } from '#lib/defined.ts'
import { KubeNodeError, messageOf } from '#lib/errors.ts'
import { jsonEqual } from '#lib/json.ts'
import { isRenewalDue } from '#permits/permits.ts'
import { guardedAll } from '#providers/guarded.ts'
import type { ReconcileContext } from '#runtime/controller.ts'
import { controllerIn, type RunningModule } from '#runtime/module.ts'
import { type Outcome, doneOrAfter, requeueAfter, retry } from '#runtime/outcome.ts'
import { type ActionOutcome, carryOut, waitingWhileBlind } from '#runtime/reconcile-with.ts'
import { writeStatus } from '#runtime/write-status.ts'
import type { ControllerContext, ControllerModule } from '../module.ts'
import { act } from './act.ts'
import type { JobAction, JobPlan, StepResult } from './actions.ts'
import { RequestGate } from './permits/request-gate.ts'
import { attemptOf, startedBy } from './steps/started.ts'
import { type JobCaches, cachesOf } from './inputs/caches.ts'
import { GATHER_MS, Observer } from './observe.ts'
import { plan } from './plan.ts'
import { remedyjobErrors } from './remedyjob-errors.ts'
import { type JobStatus, type Seen, phaseOf } from './seen.ts'
import { finalStatus } from './reporting/final-status.ts'
import { type Went, ownStatus } from './status.ts'
import { FreeDevices } from './steps/free-devices.ts'
import { OffSightings } from './steps/off-sightings.ts'
import type { JobTools } from './steps/step-tools.ts'
import { unlistGone } from './steps/unlist-gone.ts'
import { GRANTED, wakeUp } from './inputs/triggers.ts'

/** The parts that decide and act. Tests replace them with buggy ones. */
export interface JobParts {
  readonly plan: typeof plan
  readonly act: typeof act
}

export const remedyJobModuleOf = (parts: JobParts): ControllerModule => ({
  name: 'remedyjob',
  setup: (context) => setup(context, parts),
})

export const remedyJobModule: ControllerModule = remedyJobModuleOf({ plan, act })

/**
 * Events wake a key while its caches are still filling, and each such reconcile counts as a failure. Without a low cap, a node would wait minutes for
 * its repair.
 */
const BACKOFF = { baseMs: 50, capMs: 10_000 }
/** Repairs of different nodes do not block each other: mostly they wait for the server. */
const WORKERS = 16

const fieldManager = FIELD_MANAGERS.remedyJob
/** Plans per reconcile of a job. A rung has eight operations, and few are central. */
const MOST_TURNS = 8
/** How long data read from the server counts as fresh. */
const FRESH_MS = 500
/** Actions that return the current permit. */
const OF_PERMITS: ReadonlySet<JobAction['kind']> = new Set(['RequestPermit', 'RenewPermit', 'ReportResult'])

function setup(context: ControllerContext, parts: JobParts): RunningModule {
  const { client, clock, random, events, config } = context
  const { outbound, sshJoin } = config
  const providers = guardedAll(config.providers, clock)
  const caches = cachesOf(context.informers)
  const requestGate = new RequestGate(clock, (name) => controller.enqueue(name, GRANTED))
  const off = new OffSightings(clock)
  const free = new FreeDevices()
  const tools = { client, clock, random, providers, off, free, ...defined({ outbound, sessions: sshJoin?.sessions }) }
  const observer = new Observer(caches, context, free)
  const reconciler = new JobReconciler({ parts, tools, clock, caches, observer, requestGate, events })
  const controller = controllerIn(context, {
    name: 'remedyjob',
    backoff: BACKOFF,
    workers: WORKERS,
    reconcile: waitingWhileBlind((name, reconcile) => reconciler.reconcile(name, reconcile)),
    allKeys: () => caches.jobs.list().map(nameOf),
  })
  wakeUp(caches, controller, requestGate)
  return { controllers: [controller] }
}

interface Deps {
  readonly parts: JobParts
  readonly tools: JobTools
  readonly clock: Clock
  readonly caches: JobCaches
  readonly observer: Observer
  readonly requestGate: RequestGate
  readonly events: EventRecorder
}

class JobReconciler {
  readonly #deps: Deps

  constructor(deps: Deps) {
    this.#deps = deps
  }

  async reconcile(name: string, context: ReconcileContext): Promise<Outcome> {
    const { parts, clock, observer } = this.#deps
    const { signal } = context
    let decided = await this.#decide(name, signal)
    if (typeof decided === 'number') return requeueAfter(decided)
    if (decided === undefined) return this.#unlist(name, signal)
    const readAt = clock.monotonic()
    // Continue a started repair at once, while the data just read is still fresh.
    for (let turn = 1; ; turn++) {
      const { planned } = decided
      const { went, failure, permit = decided.seen.permit } = await this.#carryOut(decided.seen, planned, context)
      const seen = await observer.readAhead({ ...decided.seen, permit }, went.result, signal)
      const { status, last } = finalStatus(parts.plan, { seen, planned, went, now: clock.now() })
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

  async #unlist(name: string, signal: AbortSignal): Promise<Outcome> {
    const { tools, caches } = this.#deps
    const outcome = await unlistGone(tools.client, caches, name, signal)
    if (outcome === undefined || outcome.kind === 'Applied') return doneOrAfter(undefined)
    return 'error' in outcome ? retry(outcome.error) : doneOrAfter(0)
  }

  /** A number: not now, but after this many milliseconds. */
  async #decide(name: string, signal: AbortSignal): Promise<Decided | number | undefined> {
    const { parts, clock, observer, requestGate } = this.#deps
    const seen = await observer.observe(name)
    if (seen === undefined) return undefined
    const planned = parts.plan(seen, clock.now())
    if (planned.needsFresh !== true) return { seen, planned }
    const mayWait = phaseOf(seen.job) === 'AwaitingPermit' && !isLeaseShort(seen, clock.now())
    const putOffMs = mayWait ? requestGate.putOffMs(name) : undefined
    if (putOffMs !== undefined) return putOffMs
    const fresh = await observer.observeFresh(name, signal)
    return fresh && { seen: fresh, planned: parts.plan(fresh, clock.now()) }
  }

  async #carryOut(seen: Seen, { actions }: JobPlan, context: ReconcileContext): Promise<Carried> {
    const results = await carryOut(
      { act: (action: JobAction) => this.#act(action, seen, context.signal) },
      actions,
      seen,
      context,
    )
    let carried: Carried = { went: {} }
    for (const { action, outcome } of results) {
      if (outcome.kind !== 'Applied') {
        const failure = troubleOf(action, outcome)
        return { went: { trouble: messageOf(failure) }, failure }
      }
      const { object } = outcome
      if (OF_PERMITS.has(action.kind)) carried = { ...carried, permit: object as OperationPermit | undefined }
      if (action.kind === 'DoStep')
        carried = { ...carried, went: { result: { step: action.step, went: object as StepResult } } }
    }
    return carried
  }

  async #act(action: JobAction, seen: Seen, signal: AbortSignal): Promise<ActionOutcome> {
    const { parts, tools, observer, caches } = this.#deps
    // Another job of the machine was listed since. Decide again with the current list.
    if (action.kind === 'ListJobs' && this.#isListedAgain(action.machine)) return { kind: 'Applied', object: undefined }
    if (action.kind === 'DoStep') observer.noteDone(seen.job, attemptOf(action.step))
    const outcome = await parts.act(tools, action, seen, signal)
    if (action.kind === 'ListJobs' && outcome.kind === 'Applied') caches.machines.assume(outcome.object as Machine)
    return outcome
  }

  #isListedAgain({ metadata, spec }: Machine): boolean {
    const { caches } = this.#deps
    const now = caches.machines.get(nameOf({ metadata }))
    const isNewer = now !== undefined && isOlder(metadata.resourceVersion, now.metadata.resourceVersion)
    return isNewer && !jsonEqual(spec.jobs, now.spec.jobs)
  }

  /** Writes only the version that the decision is based on, so it never overwrites another process. */
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
    for (const attempt of startedBy(status, job)) observer.noteBegun(job, attempt)
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

interface Carried {
  readonly went: Went
  readonly failure?: unknown
  readonly permit?: OperationPermit | undefined
}

type Written =
  | { readonly kind: 'Same' }
  | { readonly kind: 'Written'; readonly job: RemedyOperationJob }
  | { readonly kind: 'Failed'; readonly error: unknown }

/** Nothing to do now: the job waits or is over. */
const isAtRest = ({ waiting, needsFresh, actions, change }: JobPlan): boolean =>
  waiting !== undefined && needsFresh !== true && actions.length === 0 && change === undefined

const isLeaseShort = ({ permit }: Seen, now: number): boolean => permit !== undefined && isRenewalDue(permit, now)

const isBeginning = ({ job }: Seen): boolean => phaseOf(job) === 'Pending' || phaseOf(job) === 'AwaitingPermit'

const againMs = (seen: Seen, { requeueAfter, needsFresh }: JobPlan, { result }: Went): number | undefined => {
  if (needsFresh === true) return 0
  // Of a thousand ripening jobs, each is reconciled once, when it is ripe. Any change in between wakes it anyway.
  const isRipening = requeueAfter !== undefined && !seen.isRipe && isBeginning(seen)
  const ms = isRipening ? Math.max(requeueAfter, GATHER_MS) : requeueAfter
  const sooner = result?.went.againMs
  return sooner === undefined ? ms : Math.min(ms ?? sooner, sooner)
}

function troubleOf(action: JobAction, outcome: Exclude<ActionOutcome, { kind: 'Applied' }>): unknown {
  if ('error' in outcome) return outcome.error
  const why = outcome.kind === 'Outdated' ? outcome.reason : 'not tried'
  return new KubeNodeError(remedyjobErrors.KN3001_request({ kind: action.kind, why }), { retry: 'now' })
}
