// Effects of a commit that `git revert` does not undo: deletions with their content, and the actions of component hooks. Pure.
import { API_GROUP } from '#api/kind.ts'
import { type MachineComponent, machineComponent } from '#api/kinds/machine-component.ts'
import { type MachineComponentSet, machineComponentSet } from '#api/kinds/machine-component-set.ts'
import { counted } from '#lib/counted.ts'
import { componentObjectName } from '#lib/names.ts'
import type { RenderedTarget, Targets } from '#delivery/desired.ts'
import type { ObjectRef } from '#delivery/object-ref.ts'
import type { KubeObject } from '#api/schema/object.ts'
import type { ClusterDifference } from '#sync/difference.ts'
import type { PlaneChange } from './plane-changes.ts'

export interface OneWay {
  readonly cluster: string
  readonly what: string
}

/** Deleting these loses more than git declares. */
const WITH_CONTENTS: Readonly<Record<string, string>> = {
  Namespace: 'with everything in it',
  CustomResourceDefinition: 'with all objects of its kind',
  PersistentVolumeClaim: 'and its data may go with it',
  PersistentVolume: 'and its data may go with it',
}

export const takesContents = ({ kind }: ObjectRef): boolean => Object.hasOwn(WITH_CONTENTS, kind)

/** Worst first, across all clusters: a truncated list must not drop the worst. */
export function oneWaySteps(
  shown: readonly ClusterDifference[],
  before: Targets,
  after: Targets,
  planes: readonly PlaneChange[] = [],
): readonly OneWay[] {
  const all = (of: (difference: ClusterDifference) => readonly string[]): readonly OneWay[] =>
    shown.flatMap((difference) => of(difference).map((what) => ({ cluster: difference.cluster, what })))
  return [
    ...planes.filter((p) => p.isOneWay).map(({ cluster, what }) => ({ cluster, what })),
    ...all(machinesLost),
    ...all(contentsLost),
    ...all(({ cluster, isLeft }) => (isLeft === true ? [] : hooksRun(before.get(cluster), after.get(cluster)))),
  ]
}

const machinesLost = ({ machines: { deleted, uncounted = [] } }: ClusterDifference): readonly string[] => [
  ...(deleted === 0 ? [] : [`deletes ${counted(deleted, 'machine')}; a revert creates new ones`]),
  ...uncounted.map(
    ({ set }) => `may delete machines of MachineSet ${set}, unknown how many; a revert creates new ones`,
  ),
]

const contentsLost = ({ changes }: ClusterDifference): readonly string[] =>
  changes.flatMap(({ change, ref, object }) => {
    const more = change === 'removed' ? WITH_CONTENTS[ref.kind] : undefined
    return more === undefined ? [] : [`deletes ${object} ${more}`]
  })

/** Hooks change what no component file contains: databases, firmware, other programs. */
function hooksRun(before: RenderedTarget | undefined, after: RenderedTarget | undefined): readonly string[] {
  const definitions = new Map([...definitionsIn(before), ...definitionsIn(after)])
  const [old, now] = [assignedIn(before), assignedIn(after)]
  const found = new Set<string>()
  for (const [key, { name, version }] of now) {
    if (old.get(key)?.version === version) continue
    const { uninstall: _, ...hooks } = definitions.get(componentObjectName(name, version))?.spec.hooks ?? {}
    if (Object.keys(hooks).length > 0) found.add(ranText(name, version, Object.keys(hooks)))
  }
  for (const [key, { name, version }] of old)
    if (!now.has(key) && definitions.get(componentObjectName(name, version))?.spec.hooks?.uninstall !== undefined)
      found.add(ranText(name, version, ['uninstall']))
  return [...found]
}

const ranText = (name: string, version: string, hooks: readonly string[]): string =>
  `runs ${hooks.join(', ')} of ${name} ${version}; a revert does not undo what ${hooks.length === 1 ? 'it did' : 'they did'}`

const ofKind = (kind: string, target: RenderedTarget | undefined): readonly KubeObject[] =>
  (target?.objects ?? []).filter(({ ref }) => ref.group === API_GROUP && ref.kind === kind).map(({ object }) => object)

const definitionsIn = (target: RenderedTarget | undefined): readonly [string, MachineComponent][] =>
  ofKind(machineComponent.kind, target).map((c) => [c.metadata.name ?? '', c as MachineComponent])

/** By set and component. */
const assignedIn = (target: RenderedTarget | undefined) =>
  new Map(
    (ofKind(machineComponentSet.kind, target) as readonly MachineComponentSet[]).flatMap(({ metadata, spec }) =>
      spec.components.map(({ name, version }) => [`${metadata.name}\n${name}`, { name, version }] as const),
    ),
  )
