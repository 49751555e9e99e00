// What of a commit counts as a deletion for people and for --fail-on deletions, and which losses come first where names are cut. Pure.
import { API_GROUP } from '#api/kind.ts'
import { cluster as clusterKind } from '#api/kinds/cluster.ts'
import { machineSet } from '#api/kinds/machine-set.ts'
import { machine } from '#api/kinds/machine.ts'
import type { Prunes } from '../prunes.ts'
import { takesContents } from '../one-way.ts'
import type { ClusterDifference, ObjectChange } from '#sync/difference.ts'

/** Kinds whose loss takes more with it than the object; the worst first. */
const PRECIOUS: readonly string[] = [
  clusterKind.kind,
  'CustomResourceDefinition',
  machineSet.kind,
  machine.kind,
  'Namespace',
  'MachineComponentSet',
]

/** Of these the machines are counted: another set may take over all of them. */
const COUNTED: ReadonlySet<string> = new Set([machineSet.kind, machine.kind])

const isGrave = ({ change, ref }: ObjectChange): boolean =>
  change === 'removed' && !COUNTED.has(ref.kind) && (PRECIOUS.includes(ref.kind) || takesContents(ref))

export const hasDeletions = (all: readonly ClusterDifference[], prunes: Prunes | undefined): boolean =>
  (prunes?.promised.length ?? 0) > 0 || all.some((d) => d.machines.deleted > 0 || d.changes.some(isGrave))

/** Without those that leave the fleet and keep what they have. */
export function clustersLost(all: readonly ClusterDifference[]): number {
  const left = new Set(all.filter((d) => d.isLeft === true).map((d) => d.cluster))
  return all
    .flatMap((d) => d.changes)
    .filter(({ change, ref }) => change === 'removed' && ref.group === API_GROUP && ref.kind === clusterKind.kind)
    .filter(({ ref }) => !left.has(ref.name)).length
}

export interface Loss {
  readonly cluster: string
  /** Machines that are deleted, of which sets, and those that no set has; the set that loses most first. */
  readonly machines: number
  readonly sets: readonly { readonly set: string; readonly deleted: number; readonly of: number }[]
  readonly single: readonly string[]
  /** Other objects whose loss takes more with it, the worst first. */
  readonly objects: readonly string[]
}

export const lossOf = ({ cluster, machines, changes }: ClusterDifference): Loss => ({
  cluster,
  machines: machines.deleted,
  sets: machines.sets.filter((s) => s.deleted > 0).toSorted((a, b) => b.deleted - a.deleted),
  single: machines.single,
  objects: changes
    .filter((c) => c.change === 'removed' && PRECIOUS.includes(c.ref.kind))
    .toSorted((a, b) => PRECIOUS.indexOf(a.ref.kind) - PRECIOUS.indexOf(b.ref.kind))
    .map((c) => c.object),
})

/** Clusters in which the same changes are one entry: a fleet of fifty is read once. */
export const groupsOf = (all: readonly ClusterDifference[]): readonly (readonly ClusterDifference[])[] => [
  ...Map.groupBy(all, (one) => JSON.stringify({ ...one, cluster: '' })).values(),
]
