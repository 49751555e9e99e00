// Which OperationalHolds stand in the way of a target or a permit. A hold whose reach cannot be told reaches it: unknown blocks.
import type { HoldEffect, OperationalHold } from '#api/kinds/operational-hold.ts'
import type { OperationPermit } from '#api/kinds/operation-permit.ts'
import { matchesLabels } from '#kube/selector.ts'
import type { Unit } from './unit.ts'

export interface HoldScope {
  /** The name of the cluster that this Defender belongs to, where it knows it. */
  readonly cluster: string | undefined
  readonly now: number
}

export const isInForce = ({ spec }: OperationalHold, now: number): boolean => !(Date.parse(spec.until) <= now)

export function holdsOver(
  holds: readonly OperationalHold[],
  effects: readonly HoldEffect[],
  { permit, unit }: { readonly permit: OperationPermit; readonly unit?: Unit },
  { cluster, now }: HoldScope,
): readonly OperationalHold[] {
  return holds.filter(
    (hold) =>
      effects.includes(hold.spec.effect) &&
      isInForce(hold, now) &&
      (reachesPermit(hold, permit) || (unit !== undefined && reachesUnit(hold, unit, cluster))),
  )
}

function reachesPermit({ spec: { target } }: OperationalHold, { metadata, spec }: OperationPermit): boolean {
  const { kind, name, namespace, selector } = target
  if (kind === 'OperationPermit')
    return name === undefined ? matches(selector, metadata.labels) : name === metadata.name
  const { requester } = spec
  if (kind !== requester.kind) return false
  if (namespace !== undefined && namespace !== requester.namespace) return false
  // The labels of who asks are not at hand: a selector may mean it.
  return name === undefined ? true : name === requester.name
}

function reachesUnit({ spec: { target } }: OperationalHold, unit: Unit, cluster: string | undefined): boolean {
  const { kind, name, namespace, selector } = target
  const isNamespace = namespace === undefined || namespace === unit.namespace
  if (kind === 'Cluster') {
    if (unit.space === 'clusters') return isNamespace && isMeant(unit.name, name, selector, unit.labels)
    // Everything here belongs to the one cluster; only a hold that surely names another one spares it.
    return name === undefined || cluster === undefined || name === cluster
  }
  if (unit.space !== 'machines') return false
  if (kind === 'Machine') return isMeant(unit.name, name, selector, unit.labels)
  return kind === 'Node' && isMeant(unit.nodeName ?? unit.name, name, selector, unit.labels)
}

type Selector = OperationalHold['spec']['target']['selector']

const isMeant = (own: string, name: string | undefined, selector: Selector, labels: Unit['labels']): boolean =>
  name === undefined ? matches(selector, labels) : name === own

function matches(selector: Selector, labels: Readonly<Record<string, string>> | undefined): boolean {
  try {
    return selector === undefined || matchesLabels(selector, labels)
  } catch {
    // A selector that nobody understands may mean this.
    return true
  }
}
