// The LogRequest controller. A Machine carries the requests to its agent, so that ten thousand agents need no extra watch. There are only a few
// requests at a time, so one pass handles all.
import { controllerIn, type RunningModule } from '#runtime/module.ts'
import { reconcileWith } from '#runtime/reconcile-with.ts'
import type { ControllerContext, ControllerModule } from '../module.ts'
import { act } from './act.ts'
import type { LogAction } from './actions.ts'
import { cachesOf, observe } from './observe.ts'
import { plan } from './plan.ts'
import type { Seen } from './seen.ts'

const ALL = 'all'

export const logModule: ControllerModule = { name: 'log', setup }

function setup(context: ControllerContext): RunningModule {
  const { client, clock } = context
  const caches = cachesOf(context.informers)
  const controller = controllerIn(context, {
    name: 'log',
    allKeys: () => [ALL],
    reconcile: reconcileWith<Seen, LogAction, undefined>({
      clock,
      observe: () => observe(caches),
      plan,
      act: (action, _, { signal }) => act(client, action, signal),
    }),
  })
  caches.requests.onChange((before, now) => {
    // A new page of an answer changes nothing here.
    if (before === undefined || now === undefined || before.status?.phase !== now.status?.phase) controller.enqueue(ALL)
  })
  caches.machines.onChange((before, now) => {
    if ((before?.spec.logs ?? []).length !== (now?.spec.logs ?? []).length) controller.enqueue(ALL)
  })
  return { controllers: [controller] }
}
