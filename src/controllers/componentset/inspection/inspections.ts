// The port for inspections of things outside the cluster, and their results. An inspection that has not run does not pass.
import type { MachineComponentSet, Slice } from '#api/kinds/machine-component-set.ts'
import type { CheckResult } from '#runtime/outbound/external-checks.ts'

export type Inspection = NonNullable<MachineComponentSet['spec']['rollout']['inspections']>[number]

export type { CheckResult }

export interface Inspector {
  /** Kinds of inspection that can run here. */
  readonly can: Abilities
  check(inspection: Inspection, signal: AbortSignal): Promise<CheckResult>
}

export interface Abilities {
  readonly http: boolean
  readonly prometheus: boolean
  readonly podProbe: boolean
}

export const NO_ABILITIES: Abilities = { http: false, prometheus: false, podProbe: false }

/** A result belongs to one step and proves nothing about another. */
export interface WantedInspection {
  readonly key: string
  readonly inspection: Inspection
}

export const isRemote = (i: Inspection): boolean => i.http !== undefined || i.prometheus !== undefined

const INSPECTED: ReadonlySet<Slice['phase']> = new Set(['Inspecting', 'Soaking'])
/** Only these slices read inspections. */
export const isInspected = ({ phase }: Pick<Slice, 'phase'>): boolean => INSPECTED.has(phase)

export const resultKey = ({ component, version = '', config = '', step }: Slice, { name }: Inspection): string =>
  [component, version, config, step, name].join('/')

/** The remote inspections of all steps that are inspecting or soaking. */
export function wantedInspections({ spec, status }: MachineComponentSet): readonly WantedInspection[] {
  const inspections = (spec.rollout.inspections ?? []).filter(isRemote)
  if (inspections.length === 0) return []
  const wanted = new Map<string, WantedInspection>()
  for (const slice of status?.slices ?? []) {
    if (!isInspected(slice)) continue
    for (const inspection of inspections) {
      const key = resultKey(slice, inspection)
      wanted.set(key, { key, inspection })
    }
  }
  return [...wanted.values()]
}
