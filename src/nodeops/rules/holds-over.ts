// Which OperationalHolds in force stand over a repair: one that names its rule, its job, its machine, its node, or the whole cluster.
import type { HoldEffect, OperationalHold } from '#api/kinds/operational-hold.ts'
import { matchesLabels } from '#kube/selector.ts'
import type { KubeObject } from '#schema/object.ts'
import { newestOf } from '../holds.ts'

export const isInForce = ({ spec, metadata }: OperationalHold, now: number): boolean =>
  metadata.deletionTimestamp === undefined && !(Date.parse(spec.until) <= now)

/** Items of a list do not say their kind on every server. */
export type Touched = readonly [kind: string, object: Pick<KubeObject, 'metadata'> | undefined]

/** `touched` is all that the repair concerns; a hold whose reach cannot be told reaches it: unknown blocks. */
export function holdOver(
  holds: readonly OperationalHold[],
  effects: readonly HoldEffect[],
  touched: readonly Touched[],
  now: number,
): OperationalHold | undefined {
  const standing = holds.filter(
    (hold) =>
      effects.includes(hold.spec.effect) &&
      isInForce(hold, now) &&
      // What runs here belongs to one cluster, whatever its name on the hub is.
      ((hold.spec.target.kind === 'Cluster' && hold.spec.effect !== 'Abort') ||
        touched.some(([kind, o]) => o !== undefined && kind === hold.spec.target.kind && names(hold, o))),
  )
  return newestOf(standing)
}

function names({ spec: { target } }: OperationalHold, { metadata }: Pick<KubeObject, 'metadata'>): boolean {
  if (target.name !== undefined) return target.name === metadata.name
  try {
    return target.selector === undefined || matchesLabels(target.selector, metadata.labels)
  } catch {
    return true
  }
}
