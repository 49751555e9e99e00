// Which deletions of a commit count for people and for --fail-on deletions, and which losses come first where names are truncated. Pure.
import { API_GROUP } from '#api/kind.ts'
import { cluster as clusterKind } from '#api/kinds/cluster.ts'
import { machineSet } from '#api/kinds/machine-set.ts'
import { machine } from '#api/kinds/machine.ts'
import { counted } from '#lib/counted.ts'
import type { Prunes } from '../prunes.ts'
import { takesContents } from '../one-way.ts'
import type { ClusterDifference, ObjectChange } from '#sync/difference.ts'

/** Kinds whose deletion loses more than the object; worst first. */
const PRECIOUS: readonly string[] = [
  clusterKind.kind,
  'CustomResourceDefinition',
  machineSet.kind,
  machine.kind,
  'Namespace',
  'MachineComponentSet',
]

/** For these, count machines: another set may take over all of them. */
const COUNTED: ReadonlySet<string> = new Set([machineSet.kind, machine.kind])

const isGrave = ({ change, ref }: ObjectChange): boolean =>
  change === 'removed' && !COUNTED.has(ref.kind) && (PRECIOUS.includes(ref.kind) || takesContents(ref))

export const hasDeletions = (all: readonly ClusterDifference[], prunes: Prunes | undefined): boolean =>
  (prunes?.promised.length ?? 0) > 0 ||
  all.some((d) => d.machines.deleted > 0 || d.machines.uncounted !== undefined || d.changes.some(isGrave))

/** Excludes clusters that leave the fleet and keep what they have. */
export function clustersLost(all: readonly ClusterDifference[]): number {
  const left = new Set(all.filter((d) => d.isLeft === true).map((d) => d.cluster))
  return all
    .flatMap((d) => d.changes)
    .filter(({ change, ref }) => change === 'removed' && ref.group === API_GROUP && ref.kind === clusterKind.kind)
    .filter(({ ref }) => !left.has(ref.name)).length
}

export interface Loss {
  readonly cluster: string
  /** Deleted machines, by set, and those without a set; the biggest loss first. */
  readonly machines: number
  readonly sets: readonly { readonly set: string; readonly deleted: number; readonly of: number }[]
  readonly single: readonly string[]
  /** Other objects whose deletion loses more, worst first. */
  readonly objects: readonly string[]
}

/** Of sets whose machines git does not count. */
export const uncountedTexts = ({ machines: { uncounted = [] } }: ClusterDifference): readonly string[] =>
  uncounted.map(({ set, why, to }) => {
    const unknown = why === 'Invalid' ? 'the base declares it invalid' : 'the base does not set its replicas'
    return to === undefined
      ? `deletes MachineSet ${set} with all of its machines that no other set takes over; ${unknown}, so their number is unknown`
      : `gives MachineSet ${set} ${counted(to, 'machine')} and deletes those that it has beyond; ${unknown}, so their number is unknown`
  })

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

/** Clusters with the same changes share one entry, so a fleet of fifty reads as one. */
export const groupsOf = (all: readonly ClusterDifference[]): readonly (readonly ClusterDifference[])[] => [
  ...Map.groupBy(all, (one) => JSON.stringify({ ...one, cluster: '' })).values(),
]
