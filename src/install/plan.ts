// Decides what an install run writes, in which order, and what it deletes: compares the release with the cluster. Pure.
import type { KubeObject } from '#api/schema/object.ts'
import type { InventoryRef } from '#delivery/object-ref.ts'
import { type Delete, isDelete } from '#delivery/operation.ts'
import type { ClusterPlan } from '#delivery/plan.ts'
import { planRelease, type ReleaseSeen } from '#delivery/release-plan.ts'
import { planDefinitions, type DefinitionProblem, type Rewrite } from './definitions.ts'
import { INSTALL_INVENTORY } from './inventory.ts'
import { groupsOf, PHASES, type PhaseName } from './phases.ts'
import { VERSION_LABEL, type Release } from './release.ts'
import { isOlder, skipProblem } from './versions.ts'

/** What the cluster has of KubeNode. */
export interface InstalledParts {
  /** What earlier runs wrote. */
  readonly inventory: readonly InventoryRef[]
  /** All existing definitions in KubeNode's API group. */
  readonly definitions: readonly KubeObject[]
  /** The newest version among the installed programs. */
  readonly installed: string | undefined
}

export interface InstallSeen extends InstalledParts, ReleaseSeen {}

export interface Phase {
  readonly name: PhaseName
  /** Written one group after the other; in parallel within a group. */
  readonly groups: readonly (readonly KubeObject[])[]
}

/** A version change, and any objections to it. */
export interface VersionStep {
  readonly from: string | undefined
  readonly to: string
  readonly skip: string | undefined
  readonly problems: readonly DefinitionProblem[]
  /** Done first, while the older release's programs still run. */
  readonly rewrites: readonly Rewrite[]
}

export interface InstallPlan extends VersionStep {
  readonly phases: readonly Phase[]
  /** For every object, the change of its Inventory entry. */
  readonly delivery: ClusterPlan
  /** In deletion order: dependents first. */
  readonly prunes: readonly Delete[]
}

export function planStep({ definitions, installed }: InstalledParts, release: Release): VersionStep {
  return {
    from: installed,
    to: release.version,
    skip: installed === undefined ? undefined : skipProblem(installed, release.version),
    ...planDefinitions(definitions, definitionsToApply(definitions, release)),
  }
}

export function planInstall(seen: InstallSeen, release: Release): InstallPlan {
  const objects = [...definitionsToApply(seen.definitions, release), ...release.objects]
  const delivery = planRelease(INSTALL_INVENTORY, objects, seen)
  const phases = PHASES.map((name): Phase => ({ name, groups: groupsOf(objects, name) }))
  return {
    ...planStep(seen, release),
    phases: phases.filter((p) => p.groups.length > 0),
    delivery,
    prunes: delivery.operations.filter(isDelete),
  }
}

/** A later release's definitions have all fields of this one; applying older ones would drop stored fields. */
export const definitionsToApply = (
  found: readonly KubeObject[],
  { definitions, version }: Release,
): readonly KubeObject[] => definitions.filter((d) => !hasLater(found, d, version))

const hasLater = (found: readonly KubeObject[], { metadata }: KubeObject, version: string): boolean =>
  found.some((d) => d.metadata.name === metadata.name && isOlder(version, d.metadata.labels?.[VERSION_LABEL] ?? ''))
