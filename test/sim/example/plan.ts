// Decides what a Parent's children need: missing ones made, surplus and outdated ones deleted within the budget. Pure.
import type { Plan } from '#runtime/reconcile-with.ts'
import { type Child, FINALIZER, type Parent, type ParentStatus, childName, isOwnedBy, isReady } from './kinds.ts'
import { defined } from '#lib/defined.ts'

export type ExampleAction =
  | { readonly kind: 'AddFinalizer'; readonly reason: string }
  | { readonly kind: 'Create'; readonly reason: string; readonly name: string }
  | { readonly kind: 'Delete'; readonly reason: string; readonly child: Child }
  | { readonly kind: 'RemoveFinalizer'; readonly reason: string }

export interface Seen {
  readonly parent: Parent
  /** All children with its name, whatever their owner. */
  readonly children: readonly Child[]
}

export type ExamplePlan = Plan<ExampleAction>

const MOST_REPLICAS = 20

/** What is wrong with a spec that a person wrote; such a parent is left as it is until it is corrected. */
export function problemOf({ spec }: Parent): string | undefined {
  const { replicas } = spec
  if (!Number.isInteger(replicas) || replicas < 0 || replicas > MOST_REPLICAS)
    return `replicas is ${replicas}; use 0 to ${MOST_REPLICAS}`
  return undefined
}

export function plan(seen: Seen): ExamplePlan {
  const { parent } = seen
  const isOurs = parent.metadata.finalizers?.includes(FINALIZER) ?? false
  if (parent.metadata.deletionTimestamp !== undefined) return isOurs ? planEnd(seen) : of()
  if (problemOf(parent) !== undefined) return of()
  if (!isOurs) return of({ kind: 'AddFinalizer', reason: 'children must not outlive their parent' })
  return of(...removals(seen), ...creations(seen))
}

const of = (...actions: readonly ExampleAction[]): ExamplePlan => ({ actions, notices: [] })

function planEnd({ parent, children }: Seen): ExamplePlan {
  const owned = children.filter((c) => isOwnedBy(c, parent))
  if (owned.length === 0) return of({ kind: 'RemoveFinalizer', reason: 'no child is left' })
  return of(...owned.map((child): ExampleAction => ({ kind: 'Delete', reason: 'the parent is being deleted', child })))
}

const namesOf = ({ metadata, spec }: Parent): readonly string[] =>
  Array.from({ length: spec.replicas }, (_, i) => childName(metadata.name ?? '', i))

function creations({ parent, children }: Seen): readonly ExampleAction[] {
  const present = new Set(children.map((c) => c.metadata.name))
  return namesOf(parent).flatMap((name) =>
    present.has(name) ? [] : [{ kind: 'Create' as const, reason: 'missing', name }],
  )
}

/** A child that is not ready costs nothing: taking it away makes nothing worse (recovery is never locked out). */
export function mayDelete({ parent, children }: Seen, child: Child): boolean {
  const { replicas, maxUnavailable } = parent.spec
  const ready = children.filter((c) => isOwnedBy(c, parent) && isReady(c)).length
  return !isReady(child) || ready - 1 >= replicas - maxUnavailable
}

/** Broken ones first, then by name, and never by the order in which a cache happens to hold them. */
const inOrder = (children: readonly Child[]): readonly Child[] =>
  children.toSorted(
    (a, b) => Number(isReady(a)) - Number(isReady(b)) || ((a.metadata.name ?? '') < (b.metadata.name ?? '') ? -1 : 1),
  )

function removals(seen: Seen): readonly ExampleAction[] {
  const { parent } = seen
  const wanted = new Set(namesOf(parent))
  const owned = seen.children.filter((c) => isOwnedBy(c, parent) && c.metadata.deletionTimestamp === undefined)
  const actions: ExampleAction[] = []
  let left = seen
  for (const child of inOrder(owned)) {
    const isSurplus = !wanted.has(child.metadata.name ?? '')
    if (!isSurplus && child.spec.version === parent.spec.version) continue
    if (!mayDelete(left, child)) continue
    actions.push({ kind: 'Delete', reason: isSurplus ? 'surplus' : 'outdated', child })
    left = { parent, children: left.children.filter((c) => c !== child) }
  }
  return actions
}

export function statusOf({ parent, children }: Seen): ParentStatus {
  const owned = children.filter((c) => isOwnedBy(c, parent))
  const problem = problemOf(parent)
  return {
    ...defined({ observedGeneration: parent.metadata.generation }),
    ready: owned.filter(isReady).length,
    updated: owned.filter((c) => c.spec.version === parent.spec.version).length,
    ...defined({ problem }),
  }
}
