// What OperationalHolds in effect say about an object.
import type { HoldEffect, OperationalHold } from '#api/kinds/operational-hold.ts'
import { isConditionTrue } from '#kube/conditions.ts'
import { matchesSelector } from '#kube/selector.ts'
import type { Condition, KubeObject } from '#schema/object.ts'
import { readSelector } from './selecting.ts'

const STOPS: ReadonlySet<HoldEffect> = new Set(['Pause', 'Freeze'])

export function holdsOn(
  holds: readonly OperationalHold[],
  object: KubeObject,
  now: number,
): readonly OperationalHold[] {
  return holds.filter(({ spec: { target, until, effect }, metadata }) => {
    if (metadata.deletionTimestamp !== undefined || !(Date.parse(until) > now) || target.kind !== object.kind)
      return false
    if (target.name !== undefined) return target.name === object.metadata.name
    if (target.selector === undefined) return false
    const read = readSelector(target.selector)
    // Unknown blocks: what stops may be meant for this one, what sets in motion is not.
    if (read.kind === 'Unreadable') return STOPS.has(effect)
    return matchesSelector(read.selector, object.metadata.labels)
  })
}

/** The newest: whoever asks for a thing again means from now on. */
export const holdOf = (
  holds: readonly OperationalHold[],
  ...effects: readonly HoldEffect[]
): OperationalHold | undefined => newestOf(holds.filter((h) => effects.includes(h.spec.effect)))

export const newestOf = (holds: readonly OperationalHold[]): OperationalHold | undefined =>
  holds.reduce<OperationalHold | undefined>(
    (newest, h) => (newest === undefined || madeAt(h) > madeAt(newest) ? h : newest),
    undefined,
  )

const madeAt = ({ metadata }: OperationalHold): number => Date.parse(metadata.creationTimestamp ?? '') || 0

interface Conditioned {
  readonly status?: { readonly conditions?: readonly Condition[] }
}

/** Somebody put the file on the node that forbids every disruption; its agent carries out no order as long as it is there. */
export const isNodeFrozen = ({ status }: Conditioned): boolean => isConditionTrue(status?.conditions, 'Frozen')

/** The moment at which the first of these ends: then it is time to look again. */
export function firstEnd(holds: readonly OperationalHold[], now: number): number | undefined {
  const ends = holds.map((h) => Date.parse(h.spec.until)).filter((end) => end > now)
  return ends.length === 0 ? undefined : Math.min(...ends)
}
