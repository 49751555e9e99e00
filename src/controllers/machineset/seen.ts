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
import { hostOf, hostsIn, specFor } from '#nodes/placement/set-hosts.ts'
import { takenFrom } from './template/taken.ts'

export interface Seen {
  readonly set: MachineSet
  /** Machines that the set owns, and machines without an owner that match its selector. */
  readonly machines: readonly Machine[]
  /** Permits that this set requested. */
  readonly permits: readonly OperationPermit[]
  /** How long refused permits have been refused. */
  readonly refusedFor: EndedFor
  /** UIDs of existing machines in a permit of this set that no longer belong to it. Absent: none. */
  readonly elsewhere?: ReadonlyMap<string, Machine>
  /** While it is in force, nothing is created or removed. */
  readonly hold: OperationalHold | undefined
  /** Its spec was edited. `set` has git's version instead, unless a hold allows the edit. */
  readonly edit?: Edit
  /** Git's declaration is unknown: nothing is created or removed. */
  readonly isHeld?: boolean
  /** Its whole cluster is being deleted. */
  readonly isClusterLeaving?: boolean
  /** Git declares it, even if a user has deleted it. */
  readonly isDeclared?: boolean
  /** The other sets with the machines that they own. Read only if this set lacks machines or is being deleted. */
  readonly others: readonly OtherSet[]
  /** When this process recorded the loss of a machine, by UID. Absent: none. */
  readonly recorded?: ReadonlyMap<string, number>
  /** Listed hosts that no Machine has. Undefined: its provider gives the hosts, or it lacks none. */
  readonly freeHosts?: number
}

export interface OtherSet {
  readonly set: MachineSet
  readonly machines: readonly Machine[]
}

export const ownerOf = (machine: Machine) => machine.metadata.ownerReferences?.find((o) => o.controller === true)
export const hasFinalizer = ({ metadata }: MachineSet): boolean =>
  metadata.finalizers?.includes(FINALIZERS.machineSet) === true
export const isOwned = (machine: Machine, set: MachineSet): boolean => ownerOf(machine)?.uid === uidOf(set)

/** Machines of the set that are not being deleted. */
export const aliveOf = ({ set, machines }: Seen): readonly Machine[] =>
  machines.filter((m) => isOwned(m, set) && !isBeingDeleted(m))

export const isReady = (m: Machine): boolean => isConditionTrue(m.status?.conditions, 'Ready')

const NOT_YET: ReadonlySet<string | undefined> = new Set(['Pending', 'Provisioning', 'Joining', 'Installing'])

/** Whether workloads may rely on it. A machine that became a node counts, unless it is known that it never took work. Unknown blocks. */
export function isInService(m: Machine): boolean {
  const { phase, nodeRef } = m.status ?? {}
  if (phase === undefined || phase === 'Failed') return nodeRef !== undefined
  return !NOT_YET.has(phase)
}

/** Known to be silent. A machine about which nothing is known yet is not silent. */
export const isSilent = (m: Machine): boolean =>
  findCondition(m.status?.conditions, 'AgentReachable')?.status === 'False' || m.status?.phase === 'Lost'

/** Silent, and unknown to its provider: it cannot come back, and nothing is left to disrupt. */
export const isZombie = (m: Machine): boolean => {
  const host = findCondition(m.status?.conditions, 'InfrastructureReady')
  return m.status?.phase === 'Lost' && host?.status === 'False' && host.reason === 'MachineGone'
}

const OF_TEMPLATE = ['provider', 'channel', 'ssh', 'pool', 'zone', 'rack', 'class', 'notices'] as const

/** Whether it differs from what the current template would create. Fields that controllers add do not count. */
export function isOutdated(set: MachineSet, machine: Machine): boolean {
  const { template } = set.spec
  const { metadata, spec } = machine
  const labels = Object.entries(template.metadata?.labels ?? {})
  if (labels.some(([k, v]) => metadata.labels?.[k] !== v)) return true
  const host = hostOf(set, machine)
  if (hostsIn(set) !== undefined && host === undefined) return true
  const wanted = specFor(template.spec, host)
  if (OF_TEMPLATE.some((field) => !jsonEqual(spec[field], wanted[field]))) return true
  const { isChange, kept } = takenFrom(set, machine)
  return isChange || kept.length > 0
}

export const readySinceMs = (m: Machine): number | undefined => {
  const ready = findCondition(m.status?.conditions, 'Ready')
  return ready?.status === 'True' ? Date.parse(ready.lastTransitionTime) : undefined
}

export type CheckedSelector =
  | { readonly kind: 'Selector'; readonly selector: Selector }
  | { readonly kind: 'Invalid'; readonly problem: string }

/** An empty selector, or one that the template does not match, would create machines forever. */
export function checkedSelector({ spec }: MachineSet): CheckedSelector {
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

/** Permits of the set that name this machine, newest last. */
export const permitsOn = ({ permits }: Seen, machine: Machine): readonly OperationPermit[] =>
  permits.filter((p) => p.spec.targets.some((t) => t.uid === uidOf(machine)))

/** For a taint of the template that evicts pods. The other permits of a set are for removals. */
export const isForTemplate = ({ spec }: OperationPermit): boolean => spec.operations.includes('Drain')

export const permitsFor = (seen: Seen, machine: Machine): readonly OperationPermit[] =>
  permitsOn(seen, machine).filter((p) => !isForTemplate(p))

/** The permit that is pending or in force. */
export const openPermit = (seen: Seen, machine: Machine): OperationPermit | undefined =>
  permitsFor(seen, machine).find((p) => {
    const { kind } = permitAnswer(p, uidOf(machine))
    return kind === 'Granted' || kind === 'Waiting'
  })
