// The inputs of one reconcile of a MachineSet, and the predicates that its plan uses. Pure.
import type { MachineSet } from '#api/kinds/machine-set.ts'
import type { Machine } from '#api/kinds/machine.ts'
import type { OperationPermit } from '#api/kinds/operation-permit.ts'
import type { OperationalHold } from '#api/kinds/operational-hold.ts'
import { FINALIZERS } from '#api/names.ts'
import { isBeingDeleted, uidOf } from '#api/schema/object-meta.ts'
import { findCondition, isConditionTrue } from '#kube/conditions.ts'
import { type Selector, matchesSelector, selectorOf } from '#kube/selector.ts'
import { messageOf } from '#lib/errors.ts'
import { jsonEqual } from '#lib/json.ts'
import type { Edit } from '#declared/committed.ts'
import type { EndedFor } from '#permits/ended-for.ts'
import { permitAnswer } from '#permits/permits.ts'

export interface Seen {
  readonly set: MachineSet
  /** Those that the set owns, and those that match its selector and have no owner. */
  readonly machines: readonly Machine[]
  /** Permits that this set requested. */
  readonly permits: readonly OperationPermit[]
  /** For how long those that were refused have been. */
  readonly refusedFor: EndedFor
  /** UIDs of machines that a permit of this set names, that exist, and that are not its own any more; left out: none. */
  readonly elsewhere?: ReadonlyMap<string, Machine>
  /** Nothing is made or removed while it is in force. */
  readonly hold: OperationalHold | undefined
  /** Its spec was edited; `set` has what git declares in its place, unless a hold allows the edit. */
  readonly edit?: Edit
  /** What git declares is not known: nothing is made or removed. */
  readonly isHeld?: boolean
  /** Its whole cluster is being deleted. */
  readonly isClusterLeaving?: boolean
  /** Git declares it, even if a user has deleted it. */
  readonly isDeclared?: boolean
  /** The other sets, each with the machines that it owns; only read by a set that is short of machines or being deleted. */
  readonly others: readonly OtherSet[]
}

export interface OtherSet {
  readonly set: MachineSet
  readonly machines: readonly Machine[]
}

export const ownerOf = (machine: Machine) => machine.metadata.ownerReferences?.find((o) => o.controller === true)
export const hasFinalizer = ({ metadata }: MachineSet): boolean =>
  metadata.finalizers?.includes(FINALIZERS.machineSet) === true
export const isOwned = (machine: Machine, set: MachineSet): boolean => ownerOf(machine)?.uid === uidOf(set)

/** Machines of the set that are there to stay. */
export const aliveOf = ({ set, machines }: Seen): readonly Machine[] =>
  machines.filter((m) => isOwned(m, set) && !isBeingDeleted(m))

export const isReady = (m: Machine): boolean => isConditionTrue(m.status?.conditions, 'Ready')

const NOT_YET: ReadonlySet<string | undefined> = new Set(['Pending', 'Provisioning', 'Joining', 'Installing'])

/** Whether workloads may rely on it. A machine that became a node counts, unless we know that it never took work: unknown blocks. */
export function isInService(m: Machine): boolean {
  const { phase, nodeRef } = m.status ?? {}
  if (phase === undefined || phase === 'Failed') return nodeRef !== undefined
  return !NOT_YET.has(phase)
}

/** Known to be silent; a machine of which nothing is known yet is not. */
export const isSilent = (m: Machine): boolean =>
  findCondition(m.status?.conditions, 'AgentReachable')?.status === 'False' || m.status?.phase === 'Lost'

/** Silent, and its provider does not know it any more: it cannot come back, and nothing is left to disturb. */
export const isZombie = (m: Machine): boolean => {
  const host = findCondition(m.status?.conditions, 'InfrastructureReady')
  return m.status?.phase === 'Lost' && host?.status === 'False' && host.reason === 'MachineGone'
}

const OF_TEMPLATE = [
  'provider',
  'channel',
  'ssh',
  'pool',
  'zone',
  'rack',
  'class',
  'labels',
  'annotations',
  'taints',
  'notices',
] as const

/** Whether it is as the present template would make it. What controllers add to a Machine does not count. */
export function isOutdated({ spec: { template } }: MachineSet, { metadata, spec }: Machine): boolean {
  const labels = Object.entries(template.metadata?.labels ?? {})
  if (labels.some(([k, v]) => metadata.labels?.[k] !== v)) return true
  return OF_TEMPLATE.some((field) => !jsonEqual(spec[field], template.spec[field]))
}

export const readySinceMs = (m: Machine): number | undefined => {
  const ready = findCondition(m.status?.conditions, 'Ready')
  return ready?.status === 'True' ? Date.parse(ready.lastTransitionTime) : undefined
}

export type Understood =
  | { readonly kind: 'Selector'; readonly selector: Selector }
  | { readonly kind: 'Invalid'; readonly problem: string }

/** A selector that is empty, or that the template does not satisfy, would make machines for ever. */
export function understood({ spec }: MachineSet): Understood {
  try {
    const selector = selectorOf(spec.selector)
    if (selector.length === 0)
      return { kind: 'Invalid', problem: 'spec.selector is empty and would select every machine' }
    if (!matchesSelector(selector, spec.template.metadata?.labels))
      return { kind: 'Invalid', problem: 'spec.template.metadata.labels do not match spec.selector' }
    if (spec.template.spec.provider === undefined)
      return {
        kind: 'Invalid',
        problem: 'spec.template.spec.provider is missing: no provider would create the machines',
      }
    return { kind: 'Selector', selector }
  } catch (e) {
    return { kind: 'Invalid', problem: messageOf(e) }
  }
}

/** Permits of the set that name this machine, the newest last. */
export const permitsFor = ({ permits }: Seen, machine: Machine): readonly OperationPermit[] =>
  permits.filter((p) => p.spec.targets.some((t) => t.uid === uidOf(machine)))

/** The one that is still being decided or in force. */
export const openPermit = (seen: Seen, machine: Machine): OperationPermit | undefined =>
  permitsFor(seen, machine).find((p) => {
    const { kind } = permitAnswer(p, uidOf(machine))
    return kind === 'Granted' || kind === 'Waiting'
  })
