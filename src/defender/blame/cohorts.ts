// What machines have in common: the versions and configurations they run, their location, and their kernel. Failures that cluster in one of these
// have their cause in it, not in the nodes.
import type { Machine } from '#api/kinds/machine.ts'
import { machine } from '#api/kinds/machine.ts'
import { LABELS } from '#api/names.ts'
import type { Unit } from '../unit.ts'

export const COHORT_KINDS = ['Component', 'Config', 'Kernel', 'Host', 'Switch', 'Rack', 'Zone', 'Class'] as const
type CohortKind = (typeof COHORT_KINDS)[number]

export interface Cohort {
  readonly kind: CohortKind
  /** The component, if the cohort is one. */
  readonly component?: string
  readonly value: string
}

const PLACE_KINDS: ReadonlySet<CohortKind> = new Set(['Host', 'Switch', 'Rack', 'Zone', 'Class'])

/** A place where one cause can reach all machines. No commit reverts it. */
export const isPlace = ({ kind }: Pick<Cohort, 'kind'>): boolean => PLACE_KINDS.has(kind)

export const cohortKey = ({ kind, component = '', value }: Cohort): string => `${kind}\n${component}\n${value}`

/** For people: `beacon 1.1.0`, `rack r12`. */
export function cohortName({ kind, component = '', value }: Cohort): string {
  if (kind === 'Component') return `${component} ${value}`
  return kind === 'Config' ? `configuration ${value} of ${component}` : `${kind.toLowerCase()} ${value}`
}

/** Every cohort of a unit, from what the machine reports, not from its orders: only what runs can break it. */
export function cohortsOf(unit: Unit): readonly Cohort[] {
  const place: Cohort[] = []
  const host = unit.labels[LABELS.host] ?? ''
  const fabric = unit.labels[LABELS.switch] ?? ''
  if (host !== '') place.push({ kind: 'Host', value: host })
  if (fabric !== '') place.push({ kind: 'Switch', value: fabric })
  if (unit.rack !== '') place.push({ kind: 'Rack', value: unit.rack })
  if (unit.zone !== '') place.push({ kind: 'Zone', value: unit.zone })
  if (unit.source.kind !== machine.kind) return place
  const { spec, status } = unit.source as Machine
  if (spec.class !== undefined && spec.class !== '') place.push({ kind: 'Class', value: spec.class })
  const kernel = status?.platform?.kernel
  if (kernel !== undefined) place.push({ kind: 'Kernel', value: kernel })
  const running = (status?.components ?? []).flatMap(({ name, version }): readonly Cohort[] => {
    if (version === undefined) return []
    const order = spec.components?.find((c) => c.name === name)
    const config = order?.version === version ? order.config : undefined
    return [
      { kind: 'Component', component: name, value: version },
      ...(config === undefined ? [] : [{ kind: 'Config', component: name, value: config } as const]),
    ]
  })
  return [...running, ...place]
}
