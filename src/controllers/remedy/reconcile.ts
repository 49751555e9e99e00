// The remedy controller. Decides about all nodes and rules at once, since limits and mass faults affect them all, and evaluates only what changed.
import { defined } from '#lib/defined.ts'
import { Pace } from '#runtime/pace.ts'
import { controllerIn, type RunningModule } from '#runtime/module.ts'
import { type ActionResult, reconcileWith, waitingWhileBlind } from '#runtime/reconcile-with.ts'
import type { ControllerContext, ControllerModule } from '../module.ts'
import { act } from './act.ts'
import { freshJobs } from './repairs/ledger.ts'
import { createRemedyMetrics } from './metrics.ts'
import { Observer, cachesOf } from './observe.ts'
import type { RemedyAction, RemedyPlan, RuleVerdict } from './actions.ts'
import { plan } from './plan.ts'
import { StatusReporter } from './reporting/status-reports.ts'

/** The parts that decide. Tests replace them with buggy ones. */
export interface RemedyParts {
  readonly plan: typeof plan
  readonly freshJobs: typeof freshJobs
}

export const remedyModuleOf = (parts: RemedyParts): ControllerModule => ({
  name: 'remedy',
  setup: (context) => setup(context, parts),
})

export const remedyModule: ControllerModule = remedyModuleOf({ plan, freshJobs })

/** A node must not wait minutes for its repair because one write was refused repeatedly. */
const BACKOFF = { baseMs: 50, capMs: 10_000 }
/** One decision covers all nodes, so there is one key. */
const KEY = 'cluster'
/** Jobs created concurrently: a burst of a thousand nodes is a thousand writes. */
const WRITES_AT_ONCE = 16
/** Changes that no decision waits for are gathered. Readers of a status do not notice the delay. */
const LATER_MS = 500

interface Verdicts {
  readonly verdicts: readonly RuleVerdict[]
  readonly failed: ReadonlySet<string>
}

function setup(context: ControllerContext, parts: RemedyParts): RunningModule {
  const { client, clock, random, log, metrics, events } = context
  const caches = cachesOf(context.informers)
  const observer = new Observer(caches, clock, createRemedyMetrics(metrics))
  const reporter = new StatusReporter({
    client,
    remediers: caches.remediers,
    clock,
    random,
    log,
    metrics: metrics.controller('remedy-status'),
    backoff: BACKOFF,
  })
  const pace = new Pace(clock)

  /** Uses the caches. Before the first job of a term, and after a doubt, it also lists the server's jobs. */
  async function decide(signal: AbortSignal): Promise<RemedyPlan> {
    const now = clock.now()
    const planned = parts.plan(await observer.observe(now), now)
    if (observer.jobs.isSure || !planned.actions.some((a) => a.kind === 'CreateJob')) return planned
    observer.jobs.noteRead(await parts.freshJobs(client, signal))
    const later = clock.now()
    return parts.plan(await observer.observe(later), later)
  }

  async function carryOut(action: RemedyAction, signal: AbortSignal) {
    if (action.kind === 'SupersedeJob') observer.awaitNews(action.job)
    const outcome = await act(client, action, signal)
    if (action.kind !== 'CreateJob') return outcome
    if (outcome.kind === 'Applied') observer.jobs.noteMade(action.job.name, outcome.object)
    else observer.jobs.noteDoubt()
    return outcome
  }

  const controller = controllerIn(context, {
    name: 'remedy',
    backoff: BACKOFF,
    workers: 1,
    allKeys: () => [KEY],
    reconcile: waitingWhileBlind(
      reconcileWith<RemedyPlan, RemedyAction, Verdicts, RemedyPlan>({
        clock,
        // Reading and deciding are paced together: with thousands of nodes both take long.
        observe: (_, { signal }) => pace.run(() => decide(signal), signal),
        plan: (planned) => planned,
        act: (action, _, { signal }) => carryOut(action, signal),
        independentAtOnce: WRITES_AT_ONCE,
        logged: (action) => defined({ job: jobOf(action) }),
        status: ({ verdicts }, _, results) => ({ verdicts, failed: failedIn(results) }),
        writeStatus: async ({ verdicts, failed }) => {
          reporter.note(verdicts, failed)
          return undefined
        },
        onPlan: ({ notices }) => {
          for (const { about, reason, message } of notices)
            if (about !== undefined) events.record(about, { type: 'Warning', reason, action: 'Decide', note: message })
        },
      }),
    ),
  })
  observer.listen((news) => (news === 'Now' ? controller.enqueue(KEY) : controller.enqueueAfter(KEY, LATER_MS)))
  return { controllers: [controller, reporter.controller] }
}

/** Names of jobs that could not be created. Empty for other actions. */
const failedIn = (results: readonly ActionResult<RemedyAction>[]): ReadonlySet<string> =>
  new Set(results.flatMap(({ action, outcome }) => (outcome.kind === 'Applied' ? [] : [jobOf(action) ?? ''])))

const jobOf = (action: RemedyAction): string | undefined => (action.kind === 'CreateJob' ? action.job.name : undefined)
