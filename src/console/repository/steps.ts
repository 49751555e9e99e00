// The parts of a prepared change: component versions in sets, and a rule to enforce. Pure.
import { cluster as clusterKind } from '#api/kinds/cluster.ts'
import { declaredOnHub } from '#delivery/declared-on-hub.ts'
import type { ClusterDifference } from '#sync/difference.ts'
import { enforceEdits, versionEdits } from './edits.ts'
import type { Step } from './working-copy.ts'

export interface VersionChange {
  readonly set: string
  readonly component: string
  readonly from: string
  readonly to: string
}

type Changed = ClusterDifference['changes'][number] & { readonly cluster: string }

const changesOf = (all: readonly ClusterDifference[]): readonly Changed[] =>
  all.flatMap((d) => d.changes.map((c) => ({ ...c, cluster: d.cluster })))

/** Every wanted set has its version, and nothing changes anywhere except versions of these components. */
export function isBump(all: readonly ClusterDifference[], target: string, wanted: readonly VersionChange[]): boolean {
  const changes = changesOf(all)
  const pathOf = (component: string): string => `spec.components[${component}].version`
  return (
    wanted.every(({ set, component, to }) =>
      changes.some(
        (c) =>
          c.cluster === target &&
          c.ref.kind === 'MachineComponentSet' &&
          c.ref.name === set &&
          c.fields.some((f) => f.path === pathOf(component) && f.after === to),
      ),
    ) &&
    changes.every(
      (c) =>
        c.change === 'changed' &&
        c.more === 0 &&
        c.fields.every((f) => wanted.some((w) => f.path === pathOf(w.component) && f.after === w.to)),
    )
  )
}

/** One step per component: a line may set it for several sets. */
export function versionSteps(target: string, wanted: readonly VersionChange[]): readonly Step[] {
  const groups = [...Map.groupBy(wanted, (w) => `${w.component}\n${w.from}\n${w.to}`).values()]
  return groups.flatMap((group, n): Step[] => {
    const [first] = group
    if (first === undefined) return []
    const sofar = groups.slice(0, n + 1).flat()
    return [{ edits: (files) => versionEdits(files, first), isDone: (made) => isBump(made.shown, target, sofar) }]
  })
}

export interface EnforceChange {
  readonly rule: string
  /** Undefined: in every cluster where it is in dry-run mode now. */
  readonly stage: string | undefined
}

/** Only the rule's mode changes to Enforce, and in no cluster of another stage. */
export const enforceStep = ({ rule, stage }: EnforceChange): Step => ({
  edits: (files) => enforceEdits(files, rule, stage),
  isDone: ({ shown, after }) => {
    const stages = new Map(
      declaredOnHub(clusterKind, after.targets).map(({ metadata, spec }) => [metadata.name ?? '', spec.stage]),
    )
    const changes = changesOf(shown)
    return (
      changes.length > 0 &&
      changes.every(
        (c) =>
          c.change === 'changed' &&
          c.more === 0 &&
          c.ref.kind === 'NodeRemedier' &&
          c.ref.name === rule &&
          (stage === undefined || stages.get(c.cluster) === stage) &&
          c.fields.every((f) => f.path === 'spec.mode' && f.after === 'Enforce'),
      )
    )
  },
})
