// Decides what one run of install writes, in which order, and what it takes away again: the release against what the cluster has. Pure.
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

/** What of KubeNode is in the cluster. */
export interface InstalledParts {
  /** What earlier runs wrote. */
  readonly inventory: readonly InventoryRef[]
  /** All definitions of our group, as they are. */
  readonly definitions: readonly KubeObject[]
  /** The newest version of which a program is there. */
  readonly installed: string | undefined
}

export interface InstallSeen extends InstalledParts, ReleaseSeen {}

export interface Phase {
  readonly name: PhaseName
  /** Written one group after the other; within a group at the same time. */
  readonly groups: readonly (readonly KubeObject[])[]
}

/** From one version to another, and what speaks against it. */
export interface VersionStep {
  readonly from: string | undefined
  readonly to: string
  readonly skip: string | undefined
  readonly problems: readonly DefinitionProblem[]
  /** First of all, while the programs of the older release still run. */
  readonly rewrites: readonly Rewrite[]
}

export interface InstallPlan extends VersionStep {
  readonly phases: readonly Phase[]
  /** Of every object, with what becomes of its entry in the Inventory. */
  readonly delivery: ClusterPlan
  /** In the order of deletion: dependents are deleted first. */
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

/** Definitions of a later release have all fields of this one: applying older ones would drop stored fields. */
export const definitionsToApply = (
  found: readonly KubeObject[],
  { definitions, version }: Release,
): readonly KubeObject[] => definitions.filter((d) => !hasLater(found, d, version))

const hasLater = (found: readonly KubeObject[], { metadata }: KubeObject, version: string): boolean =>
  found.some((d) => d.metadata.name === metadata.name && isOlder(version, d.metadata.labels?.[VERSION_LABEL] ?? ''))
