// The remedy controller: looks at all nodes and rules at once, since limits and mass faults concern them all; one look at a time, each small.
import { nodeRemedier } from '#api/kinds/node-remedier.ts'
import { FIELD_MANAGERS } from '#api/names.ts'
import { jsonEqual } from '#lib/json.ts'
import { Controller, type ReconcileContext } from '#runtime/controller.ts'
import { type Outcome, doneOrAfter, retry } from '#runtime/outcome.ts'
import { updateExactly } from '#runtime/preconditions.ts'
import type { ControllerContext, ControllerModule, RunningModule } from '../module.ts'
import { act } from './act.ts'
import { isNews } from './news.ts'
import { Observer, cachesOf, freshJobs } from './observe.ts'
import { type RemedyAction, type RemedyPlan, plan } from './plan.ts'
import type { Seen } from './seen.ts'
import { statusOf } from './status.ts'

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

/** Events wake a key while its caches are still filling, and each such look counts as a failure: without a low cap a node would wait minutes for its repair. */
const BACKOFF = { baseMs: 50, capMs: 10_000 }
/** There is one decision over all nodes, and so one key. */
const KEY = 'cluster'

function setup(context: ControllerContext, parts: RemedyParts): RunningModule {
  const { client, clock, random, log, metrics, events } = context
  const caches = cachesOf(context.informers)
  const observer = new Observer(caches)

  async function reconcile(_key: string, { signal, log: line }: ReconcileContext): Promise<Outcome> {
    const { seen, planned } = await decide(signal)
    const failures: unknown[] = []
    const failed = new Set<string>()
    for (const action of planned.actions) {
      const outcome = await act(client, action, signal)
      line.info('acted', { action: action.kind, reason: action.reason, outcome: outcome.kind, job: jobOf(action) })
      if (outcome.kind === 'Applied') continue
      // One that is refused holds up none of the others.
      failures.push(outcome.error)
      failed.add(jobOf(action) ?? '')
    }
    failures.push(...(await writeStatuses(planned, failed, signal)))
    for (const { reason, message } of planned.notices) note(seen, reason, message)
    return failures.length > 0 ? retry(failures[0]) : doneOrAfter(planned.requeueAfter)
  }

  /** From the caches; where that means new jobs, once more with the jobs that the server has now. */
  async function decide(signal: AbortSignal): Promise<{ readonly seen: Seen; readonly planned: RemedyPlan }> {
    const now = clock.now()
    const seen = await observer.observe(now)
    const planned = parts.plan(seen, now)
    if (!planned.actions.some((a) => a.kind === 'CreateJob')) return { seen, planned }
    const jobs = await parts.freshJobs(client, signal)
    const later = clock.now()
    const fresh = await observer.observe(later, jobs)
    return { seen: fresh, planned: parts.plan(fresh, later) }
  }

  async function writeStatuses(
    { verdicts }: RemedyPlan,
    failed: ReadonlySet<string>,
    signal: AbortSignal,
  ): Promise<readonly unknown[]> {
    const failures: unknown[] = []
    for (const verdict of verdicts) {
      const { remedier } = verdict.reading
      const status = statusOf(verdict, failed, clock.now())
      if (jsonEqual(remedier.status, status)) continue
      const options = { subresource: 'status', fieldManager: FIELD_MANAGERS.remedy, signal }
      const written = await updateExactly(client, nodeRemedier, { ...remedier, status }, options)
      if (written.kind !== 'Applied') failures.push(written.error)
    }
    return failures
  }

  function note({ rules }: Seen, reason: string, message: string): void {
    const reading = rules.find(({ remedier }) => message.startsWith(`${remedier.metadata.name}: `))
    if (reading !== undefined)
      events.record(reading.remedier, { type: 'Warning', reason, action: 'Decide', note: message })
  }

  const controller = new Controller({
    name: 'remedy',
    clock,
    random,
    log,
    metrics: metrics.controller('remedy'),
    backoff: BACKOFF,
    workers: 1,
    reconcile,
    allKeys: () => [KEY],
  })
  const wake = () => controller.enqueue(KEY)
  for (const cache of [caches.remediers, caches.revisions, caches.jobs, caches.holds]) cache.onChange(wake)
  const wakeOnNews: Parameters<typeof caches.nodes.onChange>[0] = (before, now) => void (isNews(before, now) && wake())
  caches.nodes.onChange(wakeOnNews)
  caches.machines.onChange((before, now) => void (isNews(before, now) && wake()))
  return { controllers: [controller] }
}

const jobOf = (action: RemedyAction): string | undefined => (action.kind === 'CreateJob' ? action.job.name : undefined)
