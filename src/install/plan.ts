// Decides what one run of install writes, in which order, and what it takes away again: the release against what the cluster has. Pure.
import type { KubeObject } from '#api/schema/object.ts'
import { compareRefs, type InventoryRef, refOf, refText } from '#delivery/object-ref.ts'
import { orderOf } from '#delivery/order.ts'
import { planDefinitions, type DefinitionProblem, type Rewrite } from './definitions.ts'
import { objectsOf } from './inventory.ts'
import { groupsOf, PHASES, type PhaseName } from './phases.ts'
import { VERSION_LABEL, type Release } from './release.ts'
import { isOlder, skipProblem } from './versions.ts'

export interface InstallSeen {
  /** What earlier runs wrote. */
  readonly inventory: readonly InventoryRef[]
  /** All definitions of our group, as they are. */
  readonly definitions: readonly KubeObject[]
  /** The newest version of which a program is there. */
  readonly installed: string | undefined
}

export interface Phase {
  readonly name: PhaseName
  /** Written one group after the other; within a group at the same time. */
  readonly groups: readonly (readonly KubeObject[])[]
}

export interface InstallPlan {
  readonly from: string | undefined
  readonly to: string
  readonly skip: string | undefined
  readonly problems: readonly DefinitionProblem[]
  /** First of all, while the programs of the older release still run. */
  readonly rewrites: readonly Rewrite[]
  readonly phases: readonly Phase[]
  /** In the order of deletion: what needs others goes before them. */
  readonly prunes: readonly InventoryRef[]
  /** Of an earlier release, and never taken away by an upgrade: with them everything inside would go. */
  readonly left: readonly InventoryRef[]
}

const NEVER_PRUNED: ReadonlySet<string> = new Set(['Namespace', 'CustomResourceDefinition', 'PersistentVolumeClaim'])

export function planInstall({ inventory, definitions, installed }: InstallSeen, release: Release): InstallPlan {
  const declared = new Set(objectsOf(release).map((o) => refText(refOf(o))))
  const undeclared = inventory.filter((r) => !declared.has(refText(r)))
  // Definitions of a later release have all fields of this one: applying older ones would drop stored fields.
  const wanted = release.definitions.filter((d) => !hasLater(definitions, d, release.version))
  const phases = PHASES.map((name): Phase => ({ name, groups: groupsOf([...wanted, ...release.objects], name) }))
  const { problems, rewrites } = planDefinitions(definitions, wanted)
  return {
    from: installed,
    to: release.version,
    skip: installed === undefined ? undefined : skipProblem(installed, release.version),
    problems,
    rewrites,
    phases: phases.filter((p) => p.groups.length > 0),
    prunes: undeclared
      .filter(({ kind }) => !NEVER_PRUNED.has(kind))
      .toSorted((a, b) => orderOf(b) - orderOf(a) || compareRefs(a, b)),
    left: undeclared.filter(({ kind }) => NEVER_PRUNED.has(kind)),
  }
}

const hasLater = (found: readonly KubeObject[], { metadata }: KubeObject, version: string): boolean =>
  found.some((d) => d.metadata.name === metadata.name && isOlder(version, d.metadata.labels?.[VERSION_LABEL] ?? ''))
