// How many machines are deleted with objects that a commit no longer declares, and which sets could take them over. Pure.
import { API_GROUP } from '#api/kind.ts'
import { type Cluster, cluster } from '#api/kinds/cluster.ts'
import { type MachineSetInput, machineSet } from '#api/kinds/machine-set.ts'
import { type Machine, type MachineInput, machine } from '#api/kinds/machine.ts'
import { canTakeOver, madeAs, madeFrom, machinesLost } from '#nodes/placement/takeover.ts'
import type { KubeObject } from '#api/schema/object.ts'
import { defined } from '#lib/defined.ts'
import { refText, type ObjectRef } from './object-ref.ts'
import type { DesiredObject } from './desired.ts'

export const isMachineSet = ({ group, kind }: ObjectRef): boolean => group === API_GROUP && kind === machineSet.kind
const isMachine = ({ group, kind }: ObjectRef): boolean => group === API_GROUP && kind === machine.kind
/** Whether machines are deleted with it. */
export const holdsMachines = (ref: ObjectRef): boolean => isMachineSet(ref) || isMachine(ref)

export const isCluster = ({ group, kind }: ObjectRef): boolean => group === API_GROUP && kind === cluster.kind

/** Whether its machines are deleted with a Cluster. A TTL exempts nothing: an earlier commit may have added it. */
export const takesMachines = ({ controlPlane, deletionPolicy }: Cluster['spec']): boolean =>
  controlPlane !== undefined && deletionPolicy === 'Delete'

/** How many machines are deleted with a Cluster. If it has served and does not answer, the number is unknown. */
export function machinesWith({ spec, status }: Pick<Cluster, 'spec' | 'status'>): number | 'Unknown' {
  if (!takesMachines(spec)) return 0
  if (status?.machines !== undefined) return status.machines.total
  return (status?.history ?? []).length === 0 && status?.reachableSince === undefined ? 0 : 'Unknown'
}

/** Rendered objects were already validated by their kinds. */
const setOf = (object: KubeObject): MachineSetInput => object as unknown as MachineSetInput
const replicasOf = ({ spec }: MachineSetInput): number => spec.replicas ?? 1

/** Deleting the record of an observed machine loses nothing. */
const isManaged = ({ metadata, spec }: Machine): boolean =>
  metadata.deletionTimestamp === undefined && spec.channel !== 'Observe'

const ownedBy = (machines: readonly Machine[], uid: string): readonly Machine[] =>
  machines.filter((m) => isManaged(m) && m.metadata.ownerReferences?.some((o) => o.uid === uid) === true)

export interface Pruned {
  readonly ref: ObjectRef
  readonly uid: string
}

export interface MachineLoss {
  readonly lost: number
  readonly total: number
}

/** For a live cluster. `uidOf` finds the live object behind a declared one. */
export function lossOf(
  prunes: readonly Pruned[],
  desired: readonly DesiredObject[],
  machines: readonly Machine[],
  uidOf: (ref: ObjectRef) => string | undefined,
): MachineLoss {
  const removedUids = new Set(prunes.filter(({ ref }) => isMachine(ref)).map(({ uid }) => uid))
  const leaving = prunes
    .filter(({ ref }) => isMachineSet(ref))
    .flatMap(({ ref, uid }) => ownedBy(machines, uid).map((m) => ({ set: ref.name, count: 1, made: madeAs(m) })))
  const takers = desired
    .filter(({ ref }) => isMachineSet(ref))
    .map(({ ref, object }) => {
      const set = setOf(object)
      const uid = uidOf(ref)
      return { set, room: replicasOf(set) - (uid === undefined ? 0 : ownedBy(machines, uid).length) }
    })
  const ofSets = [...machinesLost(leaving, takers).values()].reduce((n, lost) => n + lost, 0)
  const alone = machines.filter((m) => isManaged(m) && removedUids.has(m.metadata.uid ?? '')).length
  return { lost: ofSets + alone, total: machines.filter(isManaged).length }
}

/** Whether the declared set would take over machines of a set that is no longer declared. */
export const takesFrom = (declared: DesiredObject, uid: string, machines: readonly Machine[]): boolean =>
  isMachineSet(declared.ref) && ownedBy(machines, uid).some((m) => canTakeOver(setOf(declared.object), madeAs(m)))

export interface SetLoss {
  readonly set: string
  /** Machines that it declared before. */
  readonly of: number
  readonly deleted: number
  /** Machines that another set takes over. */
  readonly kept: number
}

/** Between two renderings, from the declared numbers. Sets that lose nothing and hand nothing over are omitted. */
export function declaredLoss(before: readonly DesiredObject[], after: readonly DesiredObject[]): readonly SetLoss[] {
  const olds = new Map(before.filter(({ ref }) => isMachineSet(ref)).map((o) => [refText(o.ref), o]))
  const news = new Map(after.filter(({ ref }) => isMachineSet(ref)).map((o) => [refText(o.ref), o]))
  const removed = [...olds]
    .filter(([key]) => !news.has(key))
    .map(([, { ref, object }]) => ({ ref, set: setOf(object) }))
  const takers = [...news].map(([key, { object }]) => {
    const old = olds.get(key)
    return {
      set: setOf(object),
      room: replicasOf(setOf(object)) - (old === undefined ? 0 : replicasOf(setOf(old.object))),
    }
  })
  const lost = machinesLost(
    removed.map(({ ref, set }) => ({ set: ref.name, count: replicasOf(set), made: madeFrom(set) })),
    takers,
  )
  const removedUids = removed.map(({ ref, set }): SetLoss => {
    const deleted = lost.get(ref.name) ?? 0
    return { set: ref.name, of: replicasOf(set), deleted, kept: replicasOf(set) - deleted }
  })
  const shrunk = [...olds].flatMap(([key, { ref, object }]): SetLoss[] => {
    const now = news.get(key)
    const of = replicasOf(setOf(object))
    const deleted = now === undefined ? 0 : of - replicasOf(setOf(now.object))
    return deleted > 0 ? [{ set: ref.name, of, deleted, kept: 0 }] : []
  })
  return [...removedUids, ...shrunk].filter(({ deleted, kept }) => deleted + kept > 0)
}

/** A set of which git does not say how many machines it has. */
export interface UncountedSet {
  readonly set: string
  /** The base declares it without replicas, or only invalid. */
  readonly why: 'NoReplicas' | 'Invalid'
  /** Machines beyond this number are deleted. Absent: the set is no longer declared. */
  readonly to?: number
}

/** Sets that may lose any number of machines. `invalid`: those that the base declares, but not validly. */
export function uncountedSets(
  before: readonly DesiredObject[],
  after: readonly DesiredObject[],
  invalid: readonly ObjectRef[],
): readonly UncountedSet[] {
  const news = new Map(after.filter(({ ref }) => isMachineSet(ref)).map((o) => [refText(o.ref), setOf(o.object)]))
  const olds = [
    ...before.filter(({ ref, object }) => isMachineSet(ref) && setOf(object).spec.replicas === undefined),
    ...invalid.filter(isMachineSet).map((ref) => ({ ref, object: undefined })),
  ]
  return olds.flatMap(({ ref, object }): UncountedSet[] => {
    const now = news.get(refText(ref))
    const isInvalid = object === undefined
    if (now !== undefined && now.spec.replicas === undefined && !isInvalid) return []
    const to = now && replicasOf(now)
    return [{ set: ref.name, why: isInvalid ? 'Invalid' : 'NoReplicas', ...defined({ to }) }]
  })
}

/** Machines that sets create, without those that they take over from a set that is no longer declared. */
export function declaredGrowth(before: readonly DesiredObject[], after: readonly DesiredObject[]): number {
  const olds = new Map(before.filter(({ ref }) => isMachineSet(ref)).map((o) => [refText(o.ref), o]))
  const grown = after
    .filter(({ ref }) => isMachineSet(ref))
    .reduce((n, { ref, object }) => {
      const old = olds.get(refText(ref))
      return n + Math.max(0, replicasOf(setOf(object)) - (old === undefined ? 0 : replicasOf(setOf(old.object))))
    }, 0)
  return grown - declaredLoss(before, after).reduce((n, { kept }) => n + kept, 0)
}

/** Individually declared machines that are no longer declared. */
export function singleMachinesLost(
  before: readonly DesiredObject[],
  after: readonly DesiredObject[],
): readonly string[] {
  const declared = new Set(after.map(({ ref }) => refText(ref)))
  return before
    .filter(
      ({ ref, object }) =>
        isMachine(ref) && !declared.has(refText(ref)) && (object as unknown as MachineInput).spec.channel !== 'Observe',
    )
    .map(({ ref }) => ref.name)
}
