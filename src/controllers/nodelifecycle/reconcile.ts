// The node lifecycle controller: sets Kubernetes' lifecycle conditions on Nodes that KubeNode drains, maintains or repairs, for other programs to read.
import type { Machine } from '#api/kinds/machine.ts'
import { LIFECYCLE_TYPES } from '#api/node-conditions.ts'
import { nameOf } from '#api/schema/object-meta.ts'
import { findCondition } from '#kube/conditions.ts'
import type { Node } from '#nodes/objects.ts'
import { ServerVersion } from '#nodes/placement/server-version.ts'
import { controllerIn, type RunningModule } from '#runtime/module.ts'
import { reconcileWith } from '#runtime/reconcile-with.ts'
import type { ControllerContext, ControllerModule } from '../module.ts'
import { act } from './act.ts'
import type { WriteConditions } from './actions.ts'
import { cachesOf, observe } from './observe.ts'
import { plan } from './plan.ts'
import type { Seen } from './seen.ts'

export const nodeLifecycleModule: ControllerModule = { name: 'nodelifecycle', setup }

function setup(context: ControllerContext): RunningModule {
  const { client, clock } = context
  const caches = cachesOf(context.informers)
  const version = new ServerVersion(client, () => clock.monotonic())
  const controller = controllerIn(context, {
    name: 'nodelifecycle',
    allKeys: () => caches.nodes.list().map(nameOf),
    reconcile: reconcileWith<Seen, WriteConditions, undefined>({
      clock,
      observe: (key, { signal }) => observe(caches, version, key, signal),
      plan,
      act: (action, _, { signal }) => act(client, action, signal),
    }),
  })
  caches.nodes.onChange((before, now) => {
    if (now !== undefined && lifecycleText(before) !== lifecycleText(now)) controller.enqueue(nameOf(now))
  })
  caches.machines.onChange((before, now) => {
    const node = (now ?? before)?.status?.nodeRef?.name
    if (node !== undefined && drainText(before) !== drainText(now)) controller.enqueue(node)
  })
  caches.jobs.onChange((before, now) => {
    const job = now ?? before
    if (job !== undefined) controller.enqueue(job.spec.node.name)
  })
  caches.events.onChange((before, now) => {
    const event = now ?? before
    const node = event === undefined ? undefined : caches.machines.get(event.spec.machine)?.status?.nodeRef?.name
    if (node !== undefined) controller.enqueue(node)
  })
  return { controllers: [controller] }
}

/** Ignores heartbeats. */
const lifecycleText = (node: Node | undefined): string =>
  (node?.status?.conditions ?? [])
    .filter(({ type }) => (LIFECYCLE_TYPES as readonly string[]).includes(type))
    .map(({ type, status, reason }) => `${type} ${status} ${reason ?? ''}`)
    .join()

const drainText = (machine: Machine | undefined): string | undefined =>
  findCondition(machine?.status?.conditions, 'Drained')?.reason
