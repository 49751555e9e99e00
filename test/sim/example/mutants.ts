// Planted bugs, one small change to the correct example each. They stay in the suite: a harness that stops finding one of them is broken.
import { objectKey } from '#api/schema/object-meta.ts'
import { outcomeOf } from '#kube/outcome.ts'
import { deleteExactly, preconditionsOf, updateExactly } from '#runtime/preconditions.ts'
import type { FaultKind } from '../sim-faults.ts'
import { type ExampleParts, type Tools, correctParts, newChild } from './controller.ts'
import { type Child, FINALIZER, type Parent, childType, isOwnedBy, isReady, parentType } from './kinds.ts'
import { plan, problemOf, statusOf } from './plan.ts'

export interface Mutant {
  readonly name: string
  readonly pattern:
    | 'Intermediate'
    | 'Stale'
    | 'TimeTravel'
    | 'Unobserved'
    | 'Indirect'
    | 'Misoperation'
    | 'Liveness'
    | 'Clock'
  /** Faults under which it must be found; none means that it shows without any. */
  readonly faults: readonly FaultKind[]
  /** Seeds within which it must be found: about four times the most that it took from twelve different starts. */
  readonly within: number
  /** Why the bug may show in a run without faults too; then nothing is claimed about such runs. */
  readonly alsoWithout?: string
  /** Created for each run, since some bugs are state that outlives its run. */
  readonly parts: () => Partial<ExampleParts>
}

const { act } = correctParts
/** The deletion of a parent, carried out by name. All other deletions are correct. */
const endByName: ExampleParts['act'] = async (tools, action, seen, context) => {
  const isEnd = seen.parent.metadata.deletionTimestamp !== undefined
  if (action.kind !== 'Delete' || !isEnd) return act(tools, action, seen, context)
  return outcomeOf(() => tools.client.delete(childType, objectKey(action.child)))
}

export const mutants: readonly Mutant[] = [
  {
    name: 'lets the parent go before its children',
    pattern: 'Intermediate',
    faults: ['Crash'],
    within: 15,
    parts: () => ({
      plan: (seen) => {
        const right = plan(seen)
        const { parent, children } = seen
        if (parent.metadata.deletionTimestamp === undefined || right.actions.length === 0) return right
        const removals = children
          .filter((c) => isOwnedBy(c, parent))
          .map((child) => ({ kind: 'Delete' as const, reason: 'end', child }))
        return { ...right, actions: [{ kind: 'RemoveFinalizer', reason: 'end' }, ...removals] }
      },
      act: async (tools, action, seen, context) => {
        if (action.kind !== 'RemoveFinalizer') return act(tools, action, seen, context)
        const finalizers = seen.parent.metadata.finalizers?.filter((f) => f !== FINALIZER) ?? []
        return updateExactly(tools.client, parentType, {
          ...seen.parent,
          metadata: { ...seen.parent.metadata, finalizers },
        })
      },
    }),
  },
  {
    name: 'makes a child first and says whose it is in a second write',
    pattern: 'Intermediate',
    faults: ['Crash'],
    within: 5,
    parts: () => ({
      act: async (tools, action, seen, context) => {
        if (action.kind !== 'Create') return act(tools, action, seen, context)
        const child = newChild(seen.parent, action.name)
        const { labels, ownerReferences, ...metadata } = child.metadata
        return outcomeOf(async () => {
          const bare = await tools.client.create(childType, { ...child, metadata })
          const patch = { metadata: { labels, ownerReferences } }
          return tools.client.patch(childType, objectKey(bare), { type: 'merge', value: patch as never })
        })
      },
    }),
  },
  {
    name: 'sleeps after a deletion instead of looking whether its cache has seen it',
    pattern: 'Stale',
    faults: ['Stale'],
    within: 100,
    alsoWithout: 'a slow schedule leaves a cache behind for longer than the sleep, without any fault',
    parts: sleepy,
  },
  {
    name: 'deletes by name what a former parent of the same name had',
    pattern: 'TimeTravel',
    faults: ['TimeTravel'],
    within: 50,
    parts: () => ({ act: endByName }),
  },
  {
    name: 'handles one kind of edit per event, so that two in one gap lose one',
    pattern: 'Unobserved',
    faults: ['Unobserved'],
    within: 40,
    parts: edgeTriggered,
  },
  {
    name: 'never forgets that it was making a child, also when that failed',
    pattern: 'Indirect',
    faults: ['Refuse'],
    within: 5,
    parts: () => {
      const making = new WeakMap<Tools, Set<string>>()
      return {
        act: async (tools, action, seen, context) => {
          if (action.kind !== 'Create') return act(tools, action, seen, context)
          const names = making.get(tools) ?? new Set()
          making.set(tools, names)
          if (names.has(action.name)) return { kind: 'Applied', object: undefined }
          names.add(action.name)
          const outcome = await act(tools, action, seen, context)
          if (outcome.kind === 'Outdated' || outcome.kind === 'Exists') names.delete(action.name)
          return outcome
        },
        onChild: (tools, before, after) => {
          if (after === undefined) making.get(tools)?.delete(before?.metadata.name ?? '')
          correctParts.onChild(tools, before, after)
        },
      }
    },
  },
  {
    name: 'trips over the event of a child that is gone, and so never hears of it',
    pattern: 'Indirect',
    // The order of things is enough to show it.
    faults: [],
    within: 50,
    parts: () => ({
      onChild: (tools, before, after) => {
        if ((after as Child).metadata.name !== undefined) correctParts.onChild(tools, before, after)
      },
    }),
  },
  {
    name: 'changes nothing until all is ready, so that nothing leads back from a broken version',
    pattern: 'Misoperation',
    faults: [],
    within: 1,
    parts: () => ({
      plan: (seen) => {
        const right = plan(seen)
        const isWaiting = seen.children.some((c) => !isReady(c)) && seen.parent.metadata.deletionTimestamp === undefined
        return isWaiting ? { ...right, actions: right.actions.filter((a) => a.kind !== 'Delete') } : right
      },
    }),
  },
  {
    name: 'takes an impossible number of replicas for none',
    pattern: 'Misoperation',
    faults: [],
    within: 1,
    parts: () => ({
      plan: (seen) =>
        problemOf(seen.parent) === undefined ? plan(seen) : plan({ ...seen, parent: withReplicas(seen.parent, 0) }),
    }),
  },
  {
    name: 'counts its looks in its status and wakes itself by that',
    pattern: 'Liveness',
    faults: [],
    within: 1,
    parts: () => {
      let looks = 0
      return { status: (seen) => ({ ...statusOf(seen), problem: `none after ${++looks} looks` }) }
    },
  },
  {
    name: 'takes every refusal for a success and never tries again',
    pattern: 'Liveness',
    faults: ['Refuse'],
    within: 5,
    parts: () => ({
      act: async (tools, action, seen, context) => {
        const outcome = await act(tools, action, seen, context)
        return outcome.kind === 'Applied' ? outcome : { kind: 'Applied', object: undefined }
      },
      writeStatus: async (tools, status, seen) => {
        await correctParts.writeStatus(tools, status, seen)
        return undefined
      },
    }),
  },
  {
    name: 'waits by the wall clock',
    pattern: 'Clock',
    faults: ['WallJump'],
    within: 12,
    parts: () => {
      let now = () => 0
      return {
        observe: async (tools, name) => {
          now = () => tools.process.clock.now()
          return correctParts.observe(tools, name)
        },
        plan: (seen) => {
          const right = plan(seen)
          const soakMs = 2_000
          const youngest = Math.max(...seen.children.map((c) => Date.parse(c.metadata.creationTimestamp ?? '')))
          const leftMs = youngest + soakMs - now()
          const isEnd = seen.parent.metadata.deletionTimestamp !== undefined
          if (isEnd || leftMs <= 0 || !right.actions.some((a) => a.kind === 'Delete')) return right
          return { ...right, actions: right.actions.filter((a) => a.kind !== 'Delete'), requeueAfter: leftMs }
        },
      }
    },
  },
]

const withReplicas = (parent: Parent, replicas: number): Parent => ({ ...parent, spec: { ...parent.spec, replicas } })

/** Acts on what changed between two events instead of on what is: an upgrade hides a change of size in the same gap. */
function edgeTriggered(): Partial<ExampleParts> {
  const sizes = new WeakMap<Tools, Map<string, number>>()
  return {
    onParent: (tools, before, after) => {
      const known = sizes.get(tools) ?? new Map<string, number>()
      sizes.set(tools, known)
      const { name = '', uid } = (after ?? before)?.metadata ?? {}
      const isFirstSight = before === undefined || before.metadata.uid !== uid
      const isUpgrade = before?.spec.version !== after?.spec.version
      if (after !== undefined && (isFirstSight || !isUpgrade)) known.set(name, after.spec.replicas)
      correctParts.onParent(tools, before, after)
    },
    observe: async (tools, name) => {
      const seen = await correctParts.observe(tools, name)
      const size = sizes.get(tools)?.get(name)
      if (seen === undefined || size === undefined) return seen
      preconditionsOf(seen.parent)
      return { ...seen, parent: withReplicas(seen.parent, size) }
    },
  }
}

/** Passes over what it deleted itself and still counts it as ready, but for a pause in which a cache has mostly caught up. */
function sleepy(): Partial<ExampleParts> {
  const pauseMs = 5_000
  const deleted = new Set<string | undefined>()
  let monotonic = () => 0
  let deletedAt = -Infinity
  return {
    observe: async (tools, name) => {
      monotonic = () => tools.process.clock.monotonic()
      return correctParts.observe(tools, name)
    },
    plan: ({ parent, children }) => {
      const asUpdated = (c: Child): Child => ({ ...c, spec: { version: parent.spec.version } })
      const right = plan({ parent, children: children.map((c) => (deleted.has(c.metadata.uid) ? asUpdated(c) : c)) })
      const leftMs = deletedAt + pauseMs - monotonic()
      const isEnd = parent.metadata.deletionTimestamp !== undefined
      if (isEnd || leftMs <= 0) return right
      return { ...right, actions: right.actions.filter((a) => a.kind !== 'Delete'), requeueAfter: leftMs }
    },
    act: async (tools, action, seen, context) => {
      if (action.kind !== 'Delete') return act(tools, action, seen, context)
      deleted.add(action.child.metadata.uid)
      deletedAt = monotonic()
      return deleteExactly(tools.client, childType, action.child)
    },
  }
}
