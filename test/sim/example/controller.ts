// The example controller: keeps the children of each parent. Every part can be replaced, which is how bugs are planted.
import { assertNever } from '#lib/errors.ts'
import { jsonEqual } from '#lib/json.ts'
import type { KubeClient } from '#kube/client.ts'
import { type Informer, createInformer } from '#kube/informer.ts'
import { outcomeOf } from '#kube/outcome.ts'
import { Controller, type ReconcileContext } from '#runtime/controller.ts'
import { withFinalizer, withoutFinalizer } from '#runtime/finalizers.ts'
import { deleteExactly, recheck, updateExactly } from '#runtime/preconditions.ts'
import { type ActionOutcome, outdated, reconcileWith } from '#runtime/reconcile-with.ts'
import { apiVersionOf } from '#api/schema/resource.ts'
import type { Actor, SimProcess } from '../process.ts'
import { type Child, FINALIZER, PARENT_LABEL, type Parent, type ParentStatus, childType, parentType } from './kinds.ts'
import { type ExampleAction, type ExamplePlan, type Seen, mayDelete, plan, statusOf } from './plan.ts'

/** What a reconcile works with in one life of the process. */
export interface Tools {
  readonly client: KubeClient
  readonly parents: Informer<Parent>
  readonly children: Informer<Child>
  readonly process: SimProcess
  readonly enqueue: (parent: string) => void
}

export interface ExampleParts {
  readonly observe: (tools: Tools, name: string) => Promise<Seen | undefined>
  readonly plan: (seen: Seen) => ExamplePlan
  readonly act: (tools: Tools, action: ExampleAction, seen: Seen, context: ReconcileContext) => Promise<ActionOutcome>
  readonly status: (seen: Seen, plan: ExamplePlan) => ParentStatus | undefined
  readonly writeStatus: (tools: Tools, status: ParentStatus, seen: Seen) => Promise<ActionOutcome | undefined>
  readonly onParent: (tools: Tools, before: Parent | undefined, after: Parent | undefined) => void
  readonly onChild: (tools: Tools, before: Child | undefined, after: Child | undefined) => void
}

const BY_PARENT = 'parent'
const parentOf = (child: Child | undefined): string | undefined => child?.metadata.labels?.[PARENT_LABEL]

export const correctParts: ExampleParts = {
  observe: async ({ parents, children }, name) => {
    const parent = parents.store.get({ name })
    return parent && { parent, children: children.store.byIndex(BY_PARENT, name) }
  },
  plan,
  act,
  status: (seen) => statusOf(seen),
  writeStatus: async ({ client }, status, { parent }) => {
    if (jsonEqual(parent.status, status)) return undefined
    // The whole status is replaced: a merge patch would keep removed fields. A stale copy is rejected because of its version.
    return updateExactly(client, parentType, { ...parent, status }, { subresource: 'status' })
  },
  onParent: ({ enqueue }, before, after) => enqueue((after ?? before)?.metadata.name ?? ''),
  onChild: ({ enqueue }, before, after) => {
    const parent = parentOf(after ?? before)
    if (parent !== undefined) enqueue(parent)
  },
}

/** The decision was made from the cache; its assumptions are checked again on the server before each action. */
async function act(
  tools: Tools,
  action: ExampleAction,
  seen: Seen,
  { signal }: ReconcileContext,
): Promise<ActionOutcome> {
  const { client } = tools
  const { parent } = seen
  switch (action.kind) {
    case 'AddFinalizer':
      return updateExactly(client, parentType, withFinalizer(parent, FINALIZER))
    case 'RemoveFinalizer': {
      const { children } = await freshlySeen(tools, seen)
      if (children.length > 0) return outdated('children are left')
      return updateExactly(client, parentType, withoutFinalizer(parent, FINALIZER))
    }
    case 'Create': {
      if ((await recheck(client, parentType, parent, signal)).kind === 'Stale') return outdated('the parent changed')
      return outcomeOf(() => client.create(childType, newChild(parent, action.name)))
    }
    case 'Delete': {
      const fresh = await freshlySeen(tools, seen)
      const isEnd = parent.metadata.deletionTimestamp !== undefined
      if (!isEnd && (await recheck(client, parentType, parent, signal)).kind === 'Stale')
        return outdated('the parent changed')
      if (!isEnd && !mayDelete(fresh, action.child)) return outdated('the budget is used up')
      return deleteExactly(client, childType, action.child)
    }
    default:
      return assertNever(action)
  }
}

/** The children as the server has them now. */
async function freshlySeen({ client }: Tools, { parent }: Seen): Promise<Seen> {
  const { items } = await client.list(childType, { labelSelector: `${PARENT_LABEL}=${parent.metadata.name}` })
  return { parent, children: items }
}

export function newChild(parent: Parent, name: string): Child {
  const { apiVersion, kind } = parent
  const { name: parentName = '', uid = '' } = parent.metadata
  return {
    apiVersion: apiVersionOf(childType),
    kind: childType.kind,
    metadata: {
      name,
      labels: { [PARENT_LABEL]: parentName },
      ownerReferences: [{ apiVersion, kind, name: parentName, uid, controller: true }],
    },
    spec: { version: parent.spec.version },
  }
}

export function exampleController(parts: ExampleParts = correctParts): Actor {
  return {
    name: 'controller',
    start: (process) => {
      const { client, cacheClient, clock, random, log, signal } = process
      const reconcile = reconcileWith<Seen, ExampleAction, ParentStatus>({
        clock,
        observe: async (key) => {
          if (!tools.parents.isSynced || !tools.children.isSynced) throw new Error('caches are not synced yet')
          return parts.observe(tools, key)
        },
        plan: parts.plan,
        act: (action, seen, context) => parts.act(tools, action, seen, context),
        status: parts.status,
        writeStatus: (status, seen) => parts.writeStatus(tools, status, seen),
      })
      const controller = new Controller({
        name: 'example',
        reconcile,
        clock,
        random,
        log,
        workers: 2,
        backoff: { baseMs: 50, capMs: 30_000 },
      })
      const indexers = { [BY_PARENT]: (child: Child) => [parentOf(child) ?? ''] }
      const tools: Tools = {
        client,
        process,
        enqueue: (parent) => controller.enqueue(parent),
        parents: createInformer({ client: cacheClient, type: parentType, clock, random }),
        children: createInformer({ client: cacheClient, type: childType, clock, random, indexers }),
      }
      tools.parents.addHandler((before, after) => parts.onParent(tools, before, after))
      tools.children.addHandler((before, after) => parts.onChild(tools, before, after))
      void tools.parents.run(signal)
      void tools.children.run(signal)
      controller.start()
    },
  }
}
