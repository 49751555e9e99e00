// Reads a MachineSet and its objects from the caches. Throws while a cache is incomplete or silent: a set that cannot count does nothing.
import type { MachineSet } from '#api/kinds/machine-set.ts'
import { machineSet } from '#api/kinds/machine-set.ts'
import { type Machine, machine as machineType } from '#api/kinds/machine.ts'
import { type OperationPermit, operationPermit } from '#api/kinds/operation-permit.ts'
import { type EndedPermits, isRefused } from '#permits/ended-for.ts'
import { type OperationalHold, operationalHold } from '#api/kinds/operational-hold.ts'
import { isBeingDeleted, nameOf, uidOf } from '#api/schema/object-meta.ts'
import { matchesSelector } from '#kube/selector.ts'
import { freeHosts, hostsIn } from '#nodes/placement/set-hosts.ts'
import type { CommittedContents } from '#declared/committed.ts'
import { isClusterLeaving } from '#permits/holds/cluster-leaves.ts'
import { holdOver, holdTarget } from '#permits/holds/reach.ts'
import { type Informers, type SharedInformer, requireFresh } from '#runtime/informers.ts'
import { type OtherSet, type Seen, ownerOf, checkedSelector } from './seen.ts'
import { defined } from '#lib/defined.ts'

export interface MachineSetCaches {
  readonly sets: SharedInformer<MachineSet>
  readonly machines: SharedInformer<Machine>
  readonly permits: SharedInformer<OperationPermit>
  readonly holds: SharedInformer<OperationalHold>
}

const BY_OWNER = 'machineset/owner'
const BY_REQUESTER = 'machineset/requester'
/** The index key of machines without an owner. */
const NOBODY = ''

export const requestingSet = ({ spec }: OperationPermit): string | undefined =>
  spec.requester.kind === machineSet.kind ? spec.requester.name : undefined

export function cachesOf(informers: Informers): MachineSetCaches {
  return {
    sets: informers.of(machineSet),
    machines: informers.of(machineType, { indexes: { [BY_OWNER]: (m) => [ownerOf(m)?.uid ?? NOBODY] } }),
    holds: informers.of(operationalHold),
    permits: informers.of(operationPermit, {
      indexes: {
        [BY_REQUESTER]: (p) => (p.spec.requester.kind === machineSet.kind ? [p.spec.requester.uid ?? ''] : []),
      },
    }),
  }
}

export interface Observing {
  readonly caches: MachineSetCaches
  readonly contents: CommittedContents
  readonly ended: EndedPermits
  readonly recorded: ReadonlyMap<string, number>
}

export function observe({ caches, contents, ended, recorded }: Observing, name: string, now: number): Seen | undefined {
  const { sets, machines, permits, holds } = caches
  requireFresh([sets, machines, permits, holds, ...contents.caches])
  const found = sets.get(name)
  if (found === undefined) return undefined
  const { object: set, edit, isHeld } = contents.view(found, now)
  const read = checkedSelector(set)
  const free = machines.byIndex(BY_OWNER, NOBODY)
  const owned = machines.byIndex(BY_OWNER, uidOf(set))
  const asked = permits.byIndex(BY_REQUESTER, uidOf(set))
  const lacks = owned.filter((m) => !isBeingDeleted(m)).length < set.spec.replicas
  return {
    set,
    machines: [
      ...owned,
      ...(read.kind === 'Selector' ? free.filter((m) => matchesSelector(read.selector, m.metadata.labels)) : []),
    ],
    permits: asked,
    refusedFor: ended.observe(uidOf(set), asked.filter(isRefused)),
    elsewhere: elsewhereOf(caches, set, asked),
    ...defined({ edit }),
    recorded,
    isHeld,
    isDeclared: isBeingDeleted(set) && contents.isDeclared(machineSet.kind, name, now),
    isClusterLeaving: isClusterLeaving(holds.list(), now),
    hold: holdOver(holds.list(), {
      effects: ['Pause', 'Freeze'],
      targets: [holdTarget(machineSet.kind, set)],
      cluster: { name: undefined },
      now,
    }),
    others: isBeingDeleted(set) || lacks ? othersThan(caches, set) : [],
    ...(lacks && hostsIn(set) !== undefined && { freeHosts: freeHosts(set, machines.list()).length }),
  }
}

function elsewhereOf(
  { machines }: MachineSetCaches,
  set: MachineSet,
  asked: readonly OperationPermit[],
): ReadonlyMap<string, Machine> {
  const targets = asked.flatMap((p) => p.spec.targets)
  return new Map(
    targets.flatMap(({ name, uid }) => {
      const m = machines.get(name)
      return m !== undefined && uidOf(m) === uid && ownerOf(m)?.uid !== uidOf(set) ? [[uid, m] as const] : []
    }),
  )
}

/** Sorted by name: nothing may depend on the order of a cache. */
const othersThan = ({ sets, machines }: MachineSetCaches, set: MachineSet): readonly OtherSet[] =>
  sets
    .list()
    .filter((other) => uidOf(other) !== uidOf(set))
    .toSorted((a, b) => (nameOf(a) < nameOf(b) ? -1 : 1))
    .map((other) => ({ set: other, machines: machines.byIndex(BY_OWNER, uidOf(other)) }))

/** The sets affected by a change of this machine: its owner, or sets that may adopt it. */
export function setsOf({ sets }: MachineSetCaches, m: Machine): readonly string[] {
  const owner = ownerOf(m)
  if (owner !== undefined) return owner.kind === machineSet.kind ? [owner.name] : []
  return sets.list().flatMap((set) => {
    const read = checkedSelector(set)
    const takes = read.kind === 'Selector' && matchesSelector(read.selector, m.metadata.labels)
    return takes && set.metadata.name !== undefined ? [set.metadata.name] : []
  })
}
