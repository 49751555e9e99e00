// The job controller, wired: one job at a time, and what enqueues it.
import type { ControllerContext, ControllerModule } from '../module.ts'
import { controllerIn, type RunningModule } from '#runtime/module.ts'
import { guardedAll } from '#providers/guarded.ts'
import { act } from './act.ts'
import { Asking } from './asking.ts'
import { cachesOf } from './caches.ts'
import { Observer } from './observe.ts'
import { plan } from './plan.ts'
import { type JobParts, JobReconciler } from './reconciler.ts'
import { nameOf } from './seen.ts'
import { OffSightings } from './steps/off-sightings.ts'
import { GRANTED, wakeUp } from './wake.ts'
import { defined } from '#lib/defined.ts'

export const remedyJobModuleOf = (parts: JobParts): ControllerModule => ({
  name: 'remedyjob',
  setup: (context) => setup(context, parts),
})

export const remedyJobModule: ControllerModule = remedyJobModuleOf({ plan, act })

/** Events wake a key while its caches are still filling, and each such look counts as a failure: without a low cap a node would wait minutes for its repair. */
const BACKOFF = { baseMs: 50, capMs: 10_000 }
/** Repairs of different nodes do not block each other: most of the time each waits for the server. */
const WORKERS = 16

function setup(context: ControllerContext, parts: JobParts): RunningModule {
  const { client, clock, random, events, config } = context
  const { outbound } = config
  const providers = guardedAll(config.providers, clock)
  const caches = cachesOf(context.informers)
  const asking = new Asking(clock, (name) => controller.enqueue(name, GRANTED))
  const off = new OffSightings(clock)
  const tools = { client, clock, random, providers, off, ...defined({ outbound }) }
  const observer = new Observer(caches, context)
  const reconciler = new JobReconciler({ parts, tools, clock, caches, observer, asking, events })
  const controller = controllerIn(context, {
    name: 'remedyjob',
    backoff: BACKOFF,
    workers: WORKERS,
    reconcile: (name, reconcile) => reconciler.reconcile(name, reconcile),
    allKeys: () => caches.jobs.list().map(nameOf),
  })
  wakeUp(caches, controller, asking)
  return { controllers: [controller] }
}
