// The remedy controller: decides about all nodes and rules at once, since limits and mass faults concern them all; asks again only about what changed.
import { inParallel } from '#lib/pool.ts'
import type { ReconcileContext } from '#runtime/controller.ts'
import { blindFor } from '#runtime/informers.ts'
import { type Outcome, doneOrAfter, requeueAfter, retry } from '#runtime/outcome.ts'
import { Pace } from '#runtime/pace.ts'
import { controllerIn, type RunningModule } from '#runtime/module.ts'
import type { ControllerContext, ControllerModule } from '../module.ts'
import { act } from './act.ts'
import { freshJobs } from './job-ledger.ts'
import { createRemedyMetrics } from './metrics.ts'
import { Observer, cachesOf } from './observe.ts'
import { type RemedyAction, type RemedyPlan, plan } from './plan.ts'
import type { Seen } from './seen.ts'
import { Teller } from './tell.ts'

/** The parts that decide; tests plant bugs in their place. */
export interface RemedyParts {
  readonly plan: typeof plan
  readonly freshJobs: typeof freshJobs
}

export const remedyModuleOf = (parts: RemedyParts): ControllerModule => ({
  name: 'remedy',
  setup: (context) => setup(context, parts),
})

export const remedyModule: ControllerModule = remedyModuleOf({ plan, freshJobs })

/** A node must not wait minutes for its repair because one write was refused again and again. */
const BACKOFF = { baseMs: 50, capMs: 10_000 }
/** There is one decision over all nodes, and so one key. */
const KEY = 'cluster'
/** Jobs made at the same time: a burst of a thousand nodes is a thousand writes. */
const WRITES_AT_ONCE = 16
/** Changes that no decision waits for are gathered; a reader of a status does not notice the delay. */
const LATER_MS = 500

function setup(context: ControllerContext, parts: RemedyParts): RunningModule {
  const { client, clock, random, log, metrics, events } = context
  const caches = cachesOf(context.informers)
  const observer = new Observer(caches, clock, createRemedyMetrics(metrics))
  const teller = new Teller({
    client,
    remediers: caches.remediers,
    clock,
    random,
    log,
    metrics: metrics.controller('remedy-status'),
    backoff: BACKOFF,
  })

  const pace = new Pace(clock)

  async function reconcile(_key: string, { signal, log: line }: ReconcileContext): Promise<Outcome> {
    let decided
    try {
      decided = await pace.run(() => decide(signal), signal)
    } catch (error) {
      const ms = blindFor(error)
      if (ms === undefined) throw error
      return requeueAfter(ms)
    }
    const { planned } = decided
    const failures: unknown[] = []
    const failed = new Set<string>()
    // A rejected action does not block the others.
    await inParallel(planned.actions, WRITES_AT_ONCE, async (action) => {
      if (action.kind === 'SupersedeJob') observer.awaitNews(action.job)
      const outcome = await act(client, action, signal)
      line.info('acted', { action: action.kind, reason: action.reason, outcome: outcome.kind, job: jobOf(action) })
      if (outcome.kind === 'Applied') {
        if (action.kind === 'CreateJob') observer.jobs.noteMade(action.job.name, outcome.object)
        return
      }
      if (action.kind === 'CreateJob') observer.jobs.noteDoubt()
      failures.push(outcome.error)
      failed.add(jobOf(action) ?? '')
    })
    teller.note(planned.verdicts, failed)
    for (const { about, reason, message } of planned.notices)
      if (about !== undefined) events.record(about, { type: 'Warning', reason, action: 'Decide', note: message })
    return failures.length > 0 ? retry(failures[0]) : doneOrAfter(planned.requeueAfter)
  }

  /** From the caches; before the first job of a term, and after a doubt, with the jobs that the server has now. */
  async function decide(signal: AbortSignal): Promise<{ readonly seen: Seen; readonly planned: RemedyPlan }> {
    const now = clock.now()
    const seen = await observer.observe(now)
    const planned = parts.plan(seen, now)
    if (observer.jobs.isSure || !planned.actions.some((a) => a.kind === 'CreateJob')) return { seen, planned }
    observer.jobs.noteRead(await parts.freshJobs(client, signal))
    const later = clock.now()
    const fresh = await observer.observe(later)
    return { seen: fresh, planned: parts.plan(fresh, later) }
  }

  const controller = controllerIn(context, {
    name: 'remedy',
    backoff: BACKOFF,
    workers: 1,
    reconcile,
    allKeys: () => [KEY],
  })
  observer.listen((news) => (news === 'Now' ? controller.enqueue(KEY) : controller.enqueueAfter(KEY, LATER_MS)))
  return { controllers: [controller, teller.controller] }
}

const jobOf = (action: RemedyAction): string | undefined => (action.kind === 'CreateJob' ? action.job.name : undefined)
