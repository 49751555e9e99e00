// The job controller: handles one job at a time, decides from caches, and decides again with fresh reads from the server before it acts.
import type { Machine } from '#api/kinds/machine.ts'
import type { NodeRemedier } from '#api/kinds/node-remedier.ts'
import type { OperationPermit } from '#api/kinds/operation-permit.ts'
import { type RemedyOperationJob, remedyOperationJob } from '#api/kinds/remedy-operation-job.ts'
import { FIELD_MANAGERS } from '#api/names.ts'
import { messageOf } from '#lib/errors.ts'
import { jsonEqual } from '#lib/json.ts'
import { findCondition } from '#kube/conditions.ts'
import { isOlder } from '#kube/resource-version.ts'
import { isCordonedBy } from '#nodes/cordon.ts'
import { isFencedBy } from '#nodes/fence.ts'
import type { Node } from '#nodes/objects.ts'
import { isRenewalDue } from '#permits/permits.ts'
import { Controller, type ReconcileContext } from '#runtime/controller.ts'
import { blindFor } from '#runtime/informers.ts'
import { type Outcome, doneOrAfter, requeueAfter, retry } from '#runtime/outcome.ts'
import { writeStatus } from '#runtime/write-status.ts'
import { KubeNodeError } from '#lib/errors.ts'
import type { RunningModule } from '#runtime/module.ts'
import type { ControllerContext, ControllerModule } from '../module.ts'
import { act } from './act.ts'
import { Asking } from './asking.ts'
import { BY_MACHINE, BY_NODE, BY_RULE, cachesOf } from './caches.ts'
import type { JobTools } from './steps/do-step.ts'
import type { JobAction, JobPlan, StepResult } from './actions.ts'
import { GATHER_MS, Observer } from './observe.ts'
import { plan } from './plan.ts'
import { type JobStatus, type JobStep, type Seen, cordonOwner, nameOf, phaseOf, uidOf } from './seen.ts'
import { type Went, ownStatus, statusOf, withStatus } from './status.ts'
import { isBegun } from './transitions.ts'
import { remedyjobErrors } from './remedyjob-errors.ts'

/** The parts that decide and do; tests plant bugs in their place. */
export interface JobParts {
  readonly plan: typeof plan
  readonly act: typeof act
}

export const remedyJobModuleOf = (parts: JobParts): ControllerModule => ({
  name: 'remedyjob',
  setup: (context) => setup(context, parts),
})

export const remedyJobModule: ControllerModule = remedyJobModuleOf({ plan, act })

/** Events wake a key while its caches are still filling, and each such look counts as a failure: without a low cap a node would wait minutes for its repair. */
const BACKOFF = { baseMs: 50, capMs: 10_000 }
const fieldManager = FIELD_MANAGERS.remedyJob
/** Plans in one reconcile of a job; a rung has eight operations, of which few are central. */
const MOST_TURNS = 8
/** How long data read from the server counts as fresh. */
const FRESH_MS = 500
/** Repairs of different nodes do not block each other: most of the time each waits for the server. */
const WORKERS = 16
/** Actions that are answered with the permit as it is now. */
const OF_PERMITS: ReadonlySet<JobAction['kind']> = new Set(['RequestPermit', 'RenewPermit', 'ReportResult'])
/** The lease runs: it goes before those that only ask. */
const GRANTED = { urgent: true }

function setup(context: ControllerContext, parts: JobParts): RunningModule {
  const { client, clock, random, log, metrics, events, config } = context
  const caches = cachesOf(context.informers)
  const observer = new Observer(caches, context)
  const asking = new Asking(clock, (name) => controller.enqueue(name, GRANTED))
  const { providers, outbound } = config
  const tools: JobTools = { client, clock, random, providers, ...(outbound !== undefined && { outbound }) }

  async function reconcile(name: string, { signal, log: line }: ReconcileContext): Promise<Outcome> {
    let decided
    try {
      decided = await decide(name, signal)
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
      const { went, failure, permit = decided.seen.permit } = await carryOut(decided.seen, planned, signal, line)
      const seen = await observer.lookAhead({ ...decided.seen, permit }, went.result, signal)
      const { status, last } = settle(seen, planned, went)
      const written = await record(seen, status, signal)
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
  async function decide(name: string, signal: AbortSignal): Promise<Decided | number | undefined> {
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

  async function carryOut(
    seen: Seen,
    planned: JobPlan,
    signal: AbortSignal,
    line: ReconcileContext['log'],
  ): Promise<{ readonly went: Went; readonly failure?: unknown; readonly permit?: OperationPermit | undefined }> {
    let went: Went = {}
    let permit: OperationPermit | undefined
    for (const action of planned.actions) {
      // Another job of the machine has been listed since: this is decided again on what is listed now.
      if (action.kind === 'ListJobs' && isListedAnew(action.machine)) continue
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

  function isListedAnew({ metadata, spec }: Machine): boolean {
    const now = caches.machines.get(nameOf({ metadata }))
    const isNewer = now !== undefined && isOlder(metadata.resourceVersion, now.metadata.resourceVersion)
    return isNewer && !jsonEqual(spec.jobs, now.spec.jobs)
  }

  /** What follows from what was done without anything being done in between is written together with it: one phase at most. */
  function settle(seen: Seen, planned: JobPlan, went: Went): { readonly status: JobStatus; readonly last: JobPlan } {
    let status = statusOf(seen, planned, went, clock.now())
    let last = planned
    if (went.trouble !== undefined) return { status, last }
    for (let n = 0; n < MOST_TURNS && status.phase !== 'Done'; n++) {
      // What is begun with this write will be this process's to do.
      const begun = new Set([...seen.begun, ...begunBy(status, seen.job)])
      const next = { ...seen, job: withStatus(seen.job, status), begun }
      const follows = parts.plan(next, clock.now())
      const phases = new Set([phaseOf(seen.job), status.phase, follows.change?.phase ?? status.phase])
      if (phases.size > 2 || (follows.change === undefined && follows.waiting === undefined)) return { status, last }
      // A change that rests on an action waits for it; what it waits for is so all the same.
      const { change: _, ...still } = follows
      const isPure = follows.actions.length === 0
      const more = statusOf(next, isPure ? follows : still, {}, clock.now())
      last = follows
      if (!isPure || jsonEqual(more, status)) return { status: more, last }
      status = more
    }
    return { status, last }
  }

  /** Under the version that was decided about: what another process wrote since is never overwritten. */
  async function record(seen: Seen, status: JobStatus, signal: AbortSignal): Promise<Written> {
    const { job } = seen
    const shared = { before: ownStatus(seen), over: 'Version' } as const
    const written = await writeStatus({
      client,
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

  const controller = new Controller({
    name: 'remedyjob',
    clock,
    random,
    log,
    metrics: metrics.controller('remedyjob'),
    backoff: BACKOFF,
    workers: WORKERS,
    reconcile,
    allKeys: () => caches.jobs.list().map(nameOf),
  })
  const wake = (jobs: readonly RemedyOperationJob[]) => {
    for (const job of jobs) controller.enqueue(nameOf(job))
  }
  const isAlive = (job: RemedyOperationJob) => phaseOf(job) !== 'Done'
  const concerns = (node: Node | undefined) => (job: RemedyOperationJob) =>
    isAlive(job) || isCordonedBy(node, cordonOwner(job)) || isFencedBy(node, cordonOwner(job))
  caches.jobs.onChange((before, now) => {
    asking.note(before, now)
    wake([now ?? before].flatMap((j) => j ?? []))
  })
  caches.permits.onChange((before, now) => {
    const { kind, name } = (now ?? before)?.spec.requester ?? {}
    const isGrant = now?.status?.phase === 'Granted' && before?.status?.phase !== 'Granted'
    if (kind === remedyOperationJob.kind && name !== undefined) controller.enqueue(name, isGrant ? GRANTED : {})
  })
  caches.nodes.onChange((before, now) => {
    for (const node of new Set([before, now]))
      if (node !== undefined) wake(caches.jobs.byIndex(BY_NODE, uidOf(node)).filter(concerns(node)))
  })
  caches.machines.onChange((before, now) => {
    const name = nameOf(now ?? before ?? { metadata: {} })
    const listed = now?.spec.jobs ?? []
    wake(caches.jobs.byIndex(BY_MACHINE, name).filter((j) => isAlive(j) || listed.includes(nameOf(j))))
  })
  caches.remediers.onChange((before, now) => {
    if (!isSameToJobs(before, now))
      wake(caches.jobs.byIndex(BY_RULE, nameOf(now ?? before ?? { metadata: {} })).filter(isAlive))
  })
  caches.holds.onChange(() => wake(caches.jobs.list().filter(isAlive)))
  return { controllers: [controller] }
}

interface Decided {
  readonly seen: Seen
  readonly planned: JobPlan
}

type Written =
  | { readonly kind: 'Same' }
  | { readonly kind: 'Written'; readonly job: RemedyOperationJob }
  | { readonly kind: 'Failed'; readonly error: unknown }

const attemptOf = ({ index, attempts }: JobStep): string => `${index}/${attempts}`

const begunIn = (status: JobStatus | undefined): readonly string[] =>
  (status?.steps ?? []).filter(isBegun).map(attemptOf)

/** Attempts that begin with this very status. */
function begunBy(status: JobStatus, before: RemedyOperationJob): readonly string[] {
  const known = new Set(begunIn(before.status))
  return begunIn(status).filter((attempt) => !known.has(attempt))
}

/** Nothing to do now: the job waits, or is over. */
const isAtRest = ({ waiting, needsFresh, actions, change }: JobPlan): boolean =>
  waiting !== undefined && needsFresh !== true && actions.length === 0 && change === undefined

/** The status of a rule changes constantly in a burst: jobs only care whether it is inhibited. */
function isSameToJobs(before: NodeRemedier | undefined, now: NodeRemedier | undefined): boolean {
  const essence = ({ metadata, spec, status }: NodeRemedier) => {
    const { uid, generation, labels, annotations, deletionTimestamp } = metadata
    const inhibited = findCondition(status?.conditions, 'Inhibited')
    return { uid, generation, labels, annotations, deletionTimestamp, spec, inhibited }
  }
  return before !== undefined && now !== undefined && jsonEqual(essence(before), essence(now))
}

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
