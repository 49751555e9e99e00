// What OperationalHolds in effect say about a set and about machines.
import type { HoldEffect, OperationalHold } from '#api/kinds/operational-hold.ts'
import { matchesLabels } from '#kube/selector.ts'
import type { KubeObject } from '#schema/object.ts'

export function holdsOn(
  holds: readonly OperationalHold[],
  object: KubeObject,
  now: number,
): readonly OperationalHold[] {
  return holds.filter(({ spec: { target, until }, metadata }) => {
    if (metadata.deletionTimestamp !== undefined || !(Date.parse(until) > now) || target.kind !== object.kind)
      return false
    if (target.name !== undefined) return target.name === object.metadata.name
    return target.selector !== undefined && matchesLabels(target.selector, object.metadata.labels)
  })
}

export const holdOf = (
  holds: readonly OperationalHold[],
  ...effects: readonly HoldEffect[]
): OperationalHold | undefined => holds.find((h) => effects.includes(h.spec.effect))

/** The moment at which the first of these ends: then it is time to look again. */
export function firstEnd(holds: readonly OperationalHold[], now: number): number | undefined {
  const ends = holds.map((h) => Date.parse(h.spec.until)).filter((end) => end > now)
  return ends.length === 0 ? undefined : Math.min(...ends)
}
