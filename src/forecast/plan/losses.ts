// What of a commit counts as a deletion for people and for --fail-on deletions, and which losses come first where names are cut. Pure.
import { API_GROUP } from '#api/kind.ts'
import { cluster as clusterKind } from '#api/kinds/cluster.ts'
import { machineSet } from '#api/kinds/machine-set.ts'
import { machine } from '#api/kinds/machine.ts'
import type { Prunes } from '../prunes.ts'
import { takesContents } from '../one-way.ts'
import type { ClusterDifference, ObjectChange } from '#sync/difference.ts'

/** Kinds whose loss takes more with it than the object; the worst first. */
export const PRECIOUS: readonly string[] = [
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
