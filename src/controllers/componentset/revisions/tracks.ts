// The target of each component of a set, and the way to it: up the ladder, or straight to a revision that was healthy before.
import { declaredTarget } from '#api/kinds/component-config.ts'
import type { OperationalHold } from '#api/kinds/operational-hold.ts'
import { type HealthyVersion, completedIn, healthyBefore, wasHealthy, wasLeft } from '#api/protocol/healthy-before.ts'
import type { ComponentOrder } from '#api/kinds/machine.ts'
import type { Reading } from '../members/reading.ts'
import { type ComponentTarget, isSameTarget, isOrderFor, readSliceTarget } from '#api/protocol/component-order.ts'
import { nameOf } from '#api/schema/object-meta.ts'
import { type ControllerRevision, targetIn } from './revisions.ts'
import type { Blocked, Seen, Slice } from '../seen.ts'
import { aheadOf, healthyVersionOf } from './way-back.ts'

export interface Track {
  readonly component: string
  readonly index: number
  readonly declared: ComponentTarget
  /** Undefined: the declared version is blocked, so machines keep theirs. */
  readonly target: ComponentTarget | undefined
  /** The target was healthy on this set before, so it needs no ladder. */
  readonly isProven: boolean
  /** The target with the digest of its definition. Undefined if it cannot count as healthy before. */
  readonly version: HealthyVersion | undefined
  /** For a machine with one of these in its spec, moving to the target means going back. */
  readonly ahead: readonly ComponentTarget[]
  /** The target replaces a blocked one. */
  readonly isRollback: boolean
  readonly blocked: Blocked | undefined
  /** The set no longer declares the component: remove it from its machines. */
  readonly isRemoval: boolean
}

export interface Revisions {
  readonly update: ControllerRevision
  readonly current: ControllerRevision | undefined
  readonly all: readonly ControllerRevision[]
}

/** Blocks still in force: the component is still declared as it failed, and no retry was requested since. */
export function bindingBlocks(
  blocked: readonly Blocked[],
  { update, all }: Revisions,
  retries: readonly OperationalHold[],
): readonly Blocked[] {
  return blocked.filter((entry) => {
    if (retries.some((retry) => isLifted(entry, retry))) return false
    const failed = targetIn(
      all.find((r) => nameOf(r) === entry.revision),
      entry.component,
    )
    const declared = targetIn(update, entry.component)
    // The revision is not in the cache. The block stays while its name is the declared one.
    return failed === undefined ? entry.revision === nameOf(update) : isSameTarget(failed, declared)
  })
}

/** A hold lifts earlier blocks, once. It does not lift later failures. */
function isLifted({ revision, since }: Blocked, { spec, metadata }: OperationalHold): boolean {
  if (spec.to !== undefined && spec.to !== revision) return false
  return Date.parse(since) <= Date.parse(metadata.creationTimestamp ?? '')
}

export function tracksOf(
  { set, components }: Seen,
  { update, current, all }: Revisions,
  blocks: readonly Blocked[],
  indexOf: ReadonlyMap<string, number>,
  members: readonly Reading[],
  isOthers: (component: string, reading: Reading) => boolean,
): readonly Track[] {
  const trackOf = (declared: ComponentTarget, isRemoval: boolean): Track => {
    const { name: component } = declared
    // A revision without the component was healthy without it.
    const healthy = targetIn(current, component) ?? (current && { name: component })
    const blocked = blocks.find((b) => b.component === component)
    const isRollback = blocked !== undefined && set.spec.rollout.onFailure === 'Rollback'
    const isFled = (t: ComponentTarget | undefined): boolean => {
      const of = t && healthyVersionOf(t, components)
      return of !== undefined && wasLeft(all, component, of)
    }
    const recorded = current && completedIn(current).get(component)
    const back = isSameTarget(healthy, declared) || isFled(healthy) ? undefined : healthy
    const target = blocked === undefined ? declared : isRollback ? back : undefined
    const index = indexOf.get(component) ?? -1
    const version = target && !isFled(target) ? healthyVersionOf(target, components) : undefined
    const ahead = target === undefined ? [] : aheadOf(all, target)
    // Sets that completed before this was recorded have only the current revision to show what was healthy.
    const isCurrent = isSameTarget(target, healthy) && (recorded === undefined || version === undefined)
    const isKnown = isCurrent || (version !== undefined && wasHealthy(healthyBefore(all, component), version))
    const isProven = isKnown && !isFled(target) && !isMostlyForeign(target, ahead, { index, members, isOthers })
    return { component, index, declared, target, isProven, version, ahead, isRollback, blocked, isRemoval }
  }
  const wanted = (update.data?.components ?? []).map((w) => trackOf(declaredTarget(w), false))
  const dropped = droppedComponents({ update, current, all })
    .filter((name) => isAnywhere(indexOf.get(name) ?? -1, members) || isAtWorkOn(name, set.status?.slices))
    .map((name) => trackOf({ name }, true))
  return [...wanted, ...dropped]
}

interface Population {
  readonly index: number
  readonly members: readonly Reading[]
  readonly isOthers: (component: string, reading: Reading) => boolean
}

/**
 * Machines that neither have the version nor are on their way back to it came from elsewhere: the selector changed, or another set was deleted. If
 * they are the majority, the version is not proven for them: they climb the ladder, and their failures count.
 */
function isMostlyForeign(
  healthy: ComponentTarget | undefined,
  newer: readonly ComponentTarget[],
  { index, members, isOthers }: Population,
): boolean {
  if (healthy?.version === undefined) return false
  let foreign = 0
  let counting = 0
  for (const reading of members) {
    // The rest cannot make them the majority any more.
    if ((counting - foreign) * 2 > members.length) return false
    if (reading.health === 'Joining' || reading.health === 'Leaving') continue
    counting++
    const order = reading.orders[index]
    if (
      order !== undefined &&
      (isOrderFor(order, healthy) || isOfCanary(order) || newer.some((t) => isOrderFor(order, t)))
    )
      continue
    if (!isOthers(healthy.name, reading)) foreign++
  }
  return foreign > 0 && foreign * 2 >= counting
}

/** A canary raises the attempt without a slice: its machines return to their previous version. */
const isOfCanary = ({ slice, attempt }: ComponentOrder): boolean => slice === undefined && attempt > 1

/** Components in kept revisions that the target revision no longer declares. */
export function droppedComponents({ update, all }: Revisions): readonly string[] {
  const named = new Set((update.data?.components ?? []).map((c) => c.name))
  const dropped = new Set(all.flatMap((r) => (r.data?.components ?? []).map((c) => c.name)))
  return [...dropped].filter((name) => !named.has(name)).toSorted()
}

const isAnywhere = (index: number, members: readonly Reading[]): boolean =>
  members.some((m) => m.orders[index] !== undefined || m.reports[index] !== undefined)

const isAtWorkOn = (component: string, slices: readonly Slice[] = []): boolean =>
  slices.some((w) => isSliceTo(w, { name: component }))

export const isSliceTo = (slice: Slice, target: ComponentTarget | undefined): boolean =>
  isSameTarget(readSliceTarget(slice), target)
