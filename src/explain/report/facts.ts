// What reports are made of: a cluster as it is, and what is known of the time before. Absent parts are not known, and `unknown` says why.
import type { MachineComponentSet } from '#api/kinds/machine-component-set.ts'
import type { Machine } from '#api/kinds/machine.ts'
import type { NodeRemedier } from '#api/kinds/node-remedier.ts'
import type { OperationPermit } from '#api/kinds/operation-permit.ts'
import type { Release } from '#api/kinds/release.ts'
import type { RemedyOperationJob } from '#api/kinds/remedy-operation-job.ts'
import type { ResourceSum } from '#measure/capacity.ts'
import { dayOf, type KeptDays, NO_POOL, sumOfDays } from '#measure/kept-days.ts'
import type { Node } from '#nodes/objects.ts'

export interface Fault {
  /** The condition. */
  readonly kind: string
  readonly node: string
  /** Milliseconds since 1970. */
  readonly at: number
  /** Undefined: it lasts, or its end is not known. */
  readonly ended: number | undefined
}

export interface ReportFacts {
  readonly cluster: string
  readonly from: number
  readonly to: number
  readonly machines: readonly Machine[]
  readonly nodes: readonly Node[]
  readonly sets: readonly MachineComponentSet[]
  readonly jobs: readonly RemedyOperationJob[]
  /** The present rules, then those that were deleted. */
  readonly rules: readonly NodeRemedier[]
  readonly permits: readonly OperationPermit[]
  readonly faults: readonly Fault[]
  /** False: ended faults are not known. */
  readonly hasHistory: boolean
  readonly releases: readonly Release[] | undefined
  readonly levels: KeptDays | undefined
  readonly requested: readonly ResourceSum[] | undefined
  readonly used: readonly ResourceSum[] | undefined
  readonly unknown: readonly string[]
  /** Of a sum: its clusters. Sets select machines of their own cluster only. */
  readonly parts?: readonly ReportFacts[]
}

/** Pools with a machine now, or with a service level in this time. */
export const poolsIn = ({ machines, levels, from }: ReportFacts): ReadonlySet<string> =>
  new Set([
    ...machines.map((m) => m.spec.pool ?? NO_POOL),
    ...(levels === undefined ? [] : sumOfDays(levels, dayOf(from)).keys()),
  ])

/** Components that a set declares or a machine has. */
export const componentsIn = ({ machines, sets }: ReportFacts): ReadonlySet<string> =>
  new Set([
    ...sets.flatMap(({ spec }) => spec.components.map((c) => c.name)),
    ...machines.flatMap(({ status }) => (status?.components ?? []).map((c) => c.name)),
  ])
