// The job controller: looks at one job at a time, decides on caches, and decides again on the server's word before anything happens.
import { API_GROUP_VERSION } from '#api/kind.ts'
import { type RemedyOperationJob, remedyOperationJob } from '#api/kinds/remedy-operation-job.ts'
import { FIELD_MANAGERS } from '#api/names.ts'
import { messageOf } from '#lib/errors.ts'
import { jsonEqual } from '#lib/json.ts'
import { applyObject } from '#kube/apply.ts'
import { isCordonedBy } from '#nodeops/cordon.ts'
import type { Node } from '#nodeops/objects.ts'
import { Controller, type ReconcileContext } from '#runtime/controller.ts'
import { type Outcome, doneOrAfter, retry } from '#runtime/outcome.ts'
import { KubeNodeError } from '#lib/errors.ts'
import type { ControllerContext, ControllerModule, RunningModule } from '../module.ts'
import { type JobTools, act } from './act.ts'
import type { JobAction, JobPlan, StepResult } from './moves.ts'
import { BY_MACHINE, BY_NODE, BY_RULE, Observer, cachesOf } from './observe.ts'
import { plan } from './plan.ts'
import { type Seen, cordonOwner, nameOf, phaseOf, uidOf } from './seen.ts'
import { type Went, ownStatus, statusOf } from './status.ts'

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

function setup(context: ControllerContext, parts: JobParts): RunningModule {
  const { client, clock, random, log, metrics, events, config } = context
  const caches = cachesOf(context.informers)
  const observer = new Observer(caches, context)
  const tools: JobTools = { client, clock, random, providers: config.providers }

  async function reconcile(name: string, { signal, log: line }: ReconcileContext): Promise<Outcome> {
    const decided = await decide(name, signal)
    if (decided === undefined) return doneOrAfter(undefined)
    const { seen, planned } = decided
    let went: Went = {}
    let failure: unknown
    for (const action of planned.actions) {
      if (action.kind === 'DoStep') observer.noteDone(seen.job, attemptOf(action))
      const outcome = await parts.act(tools, action, seen, signal)
      line.info('acted', { action: action.kind, reason: action.reason, outcome: outcome.kind })
      if (outcome.kind === 'Applied') {
        if (action.kind === 'DoStep') went = { result: { step: action.step, went: outcome.object as StepResult } }
        continue
      }
      failure = troubleOf(action, outcome)
      went = { trouble: messageOf(failure) }
      break
    }
    const written = await writeStatus(seen, planned, went, signal)
    if (failure !== undefined) return retry(failure)
    return written === undefined ? doneOrAfter(planned.requeueAfter) : retry(written)
  }

  async function decide(
    name: string,
    signal: AbortSignal,
  ): Promise<{ readonly seen: Seen; readonly planned: JobPlan } | undefined> {
    const seen = await observer.observe(name)
    if (seen === undefined) return undefined
    const planned = parts.plan(seen, clock.now())
    if (planned.needsFresh !== true) return { seen, planned }
    const fresh = await observer.observeFresh(name, signal)
    return fresh && { seen: fresh, planned: parts.plan(fresh, clock.now()) }
  }

  /** Under the version that was decided about: what another process wrote since is never overwritten. */
  async function writeStatus(seen: Seen, planned: JobPlan, went: Went, signal: AbortSignal): Promise<unknown> {
    const { job } = seen
    const status = statusOf(seen, planned, went, clock.now())
    if (jsonEqual(ownStatus(seen), status)) return undefined
    const { resourceVersion } = job.metadata
    const metadata = { name: nameOf(job), uid: uidOf(job), ...(resourceVersion !== undefined && { resourceVersion }) }
    const object = { apiVersion: API_GROUP_VERSION, kind: remedyOperationJob.kind, metadata, status }
    const options = { fieldManager, force: true, subresource: 'status', signal }
    const written = await applyObject(client, remedyOperationJob, object, options)
    if (written.kind !== 'Applied') return written.error
    const begun = planned.change?.step
    if (begun?.outcome === undefined && begun?.startedAt !== undefined)
      observer.noteBegun(job, attemptOf({ step: begun }))
    if (status.outcome !== undefined && job.status?.outcome === undefined)
      events.record(job, {
        type: status.outcome === 'Permanent' ? 'Warning' : 'Normal',
        reason: status.outcome,
        action: 'Repair',
        note: status.message ?? '',
      })
    return undefined
  }

  const controller = new Controller({
    name: 'remedyjob',
    clock,
    random,
    log,
    metrics: metrics.controller('remedyjob'),
    backoff: BACKOFF,
    reconcile,
    allKeys: () => caches.jobs.list().map(nameOf),
  })
  const wake = (jobs: readonly RemedyOperationJob[]) => {
    for (const job of jobs) controller.enqueue(nameOf(job))
  }
  const isAlive = (job: RemedyOperationJob) => phaseOf(job) !== 'Done'
  const concerns = (node: Node | undefined) => (job: RemedyOperationJob) =>
    isAlive(job) || isCordonedBy(node, cordonOwner(job))
  caches.jobs.onChange((before, now) => wake([now ?? before].flatMap((j) => j ?? [])))
  caches.permits.onChange((before, now) => {
    const { kind, name } = (now ?? before)?.spec.requester ?? {}
    if (kind === remedyOperationJob.kind && name !== undefined) controller.enqueue(name)
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
  caches.remediers.onChange((before, now) =>
    wake(caches.jobs.byIndex(BY_RULE, nameOf(now ?? before ?? { metadata: {} })).filter(isAlive)),
  )
  caches.holds.onChange(() => wake(caches.jobs.list().filter(isAlive)))
  return { controllers: [controller] }
}

const attemptOf = ({ step }: { readonly step: Extract<JobAction, { kind: 'DoStep' }>['step'] }): string =>
  `${step.index}/${step.attempts}`

function troubleOf(action: JobAction, outcome: Exclude<Awaited<ReturnType<typeof act>>, { kind: 'Applied' }>): unknown {
  if ('error' in outcome) return outcome.error
  const why = outcome.kind === 'Outdated' ? outcome.reason : 'not tried'
  return new KubeNodeError('KN4203', `cannot ${action.kind}: ${why}; it is tried again`, { retry: 'now' })
}
