// Lists what a hold can match when a permit is decided: the permit, its requester, and the machine or cluster that it disrupts.
import type { HoldEffect, OperationalHold } from '#api/kinds/operational-hold.ts'
import type { OperationPermit } from '#api/kinds/operation-permit.ts'
import { isInForce, readable } from '#permits/holds/in-force.ts'
import { holdsOver, named, holdTarget, type HoldTarget, holdTargetsOfMachine } from '#permits/holds/reach.ts'
import type { Unit } from './unit.ts'
import { defined } from '#lib/defined.ts'

export interface HoldScope {
  /** The name of this Defender's cluster, if known. */
  readonly cluster: string | undefined
  readonly now: number
}

export function holdsOn(
  holds: readonly OperationalHold[],
  effects: readonly HoldEffect[],
  { permit, unit }: { readonly permit: OperationPermit; readonly unit?: Unit },
  { cluster, now }: HoldScope,
): readonly OperationalHold[] {
  if (holds.length === 0) return []
  const targets = [
    holdTarget('OperationPermit', permit),
    ...requesterOf(permit),
    ...(unit === undefined ? [] : targetsOf(unit)),
  ]
  const isInCluster = unit?.space === 'machines'
  const over = holdsOver(holds, { effects, targets, now, ...(isInCluster && { cluster: { name: cluster } }) })
  if (!isInCluster || !effects.includes('Abort')) return over
  // An Abort for a whole cluster also denies all new permits.
  return [...over, ...holds.map(readable).filter((h) => isAbortOfCluster(h, cluster) && isInForce(h, now))]
}

const isAbortOfCluster = ({ spec: { target, effect } }: OperationalHold, cluster: string | undefined): boolean =>
  effect === 'Abort' &&
  target.kind === 'Cluster' &&
  (target.name === undefined || cluster === undefined || target.name === cluster)

/** The requester's labels are not known here. */
function requesterOf({ spec: { requester } }: OperationPermit): readonly HoldTarget[] {
  const { kind, name, namespace } = requester
  if (kind === undefined) return []
  return [{ ...named(kind, name ?? ''), ...defined({ namespace }) }]
}

/** By its own labels, and those of its Node and its domains. */
function targetsOf({ space, name, namespace, nodeName, labels, source }: Unit): readonly HoldTarget[] {
  if (space === 'clusters') return [{ kind: 'Cluster', name, labels, ...defined({ namespace }) }]
  // A MachineSet's labels are not known here. The controllers know them and evaluate such selectors.
  const machine = holdTargetsOfMachine(source, {
    node: undefined,
    machineSet: (set) => ({ metadata: { name: set } }),
  }).filter((t) => t.kind !== 'Node')
  return [...machine, { kind: 'Machine', name, labels }, { kind: 'Node', name: nodeName ?? name, labels }]
}
