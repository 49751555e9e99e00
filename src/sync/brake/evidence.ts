// The evidence that one cluster gives the brake: component versions that failed there, repairs by rule, and whether slices are open or waiting. Pure.
import type { MachineComponentSet } from '#api/kinds/machine-component-set.ts'
import type { NodeRemedier } from '#api/kinds/node-remedier.ts'
import type { Version } from '#api/protocol/component-order.ts'
import { ANNOTATIONS } from '#api/names.ts'
import { defined } from '#lib/defined.ts'

export interface FailedVersion extends Version {
  readonly component: string
  readonly commit?: string
}

export interface Evidence {
  readonly failed: readonly FailedVersion[]
  /** Repairs of the last hour, by rule. */
  readonly repairs: ReadonlyMap<string, number>
  /** Slices that hold a permit. */
  readonly openSlices: number
  /** Slices that wait for the fleet's budget alone. */
  readonly waitingSlices: number
}

const OPEN: ReadonlySet<string> = new Set(['Switching', 'Inspecting', 'Soaking'])

export function evidenceOf(
  sets: readonly MachineComponentSet[],
  rules: readonly Pick<NodeRemedier, 'metadata' | 'status'>[],
): Evidence {
  const slices = sets.flatMap(({ status }) => status?.slices ?? [])
  return {
    failed: sets.flatMap(failedIn),
    repairs: new Map(rules.map(({ metadata, status }) => [metadata.name ?? '', status?.counts?.lastHour ?? 0])),
    openSlices: slices.filter(({ phase }) => OPEN.has(phase)).length,
    waitingSlices: slices.filter(({ waitingFor }) => waitingFor?.predicate === 'FleetBudget').length,
  }
}

/** Considers the declared revision only: an earlier one that failed is no longer rolled out. */
function failedIn({ metadata, spec, status }: MachineComponentSet): readonly FailedVersion[] {
  if (status?.observedGeneration !== metadata.generation) return []
  return (status?.revisions?.blocked ?? []).flatMap(({ component, revision }) => {
    const declared = spec.components.find((c) => c.name === component)
    if (declared === undefined || revision !== status?.revisions?.update) return []
    const { version } = declared
    const config = status.slices?.findLast((s) => s.component === component && s.version === version)?.config
    return [{ component, version, ...defined({ config, commit: metadata.annotations?.[ANNOTATIONS.commit] }) }]
  })
}
