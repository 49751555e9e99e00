// How long earlier switches took, from the last ones that sets record. If nothing was recorded, the duration is assumed and marked as such.
import type { MachineComponentSet } from '#api/kinds/machine-component-set.ts'
import { quantile } from '#lib/quantile.ts'

/** Longer than most switches take: finishing early does no harm. */
const ASSUMED_MS = 300_000

interface Duration {
  readonly ms: number
  /** No switch of this component was recorded, in this set or any other. */
  readonly isAssumed: boolean
}

export type DurationOf = (set: string, component: string) => Duration

/** `share`: 0.5 means that half of the switches took at most this long. */
export function durationsOf(sets: readonly MachineComponentSet[], share: number): DurationOf {
  const own = new Map<string, readonly number[]>()
  const everywhere = new Map<string, number[]>()
  for (const { metadata, status } of sets)
    for (const { component, seconds } of status?.durations ?? []) {
      own.set(`${metadata.name}\n${component}`, seconds)
      everywhere.set(component, [...(everywhere.get(component) ?? []), ...seconds])
    }
  return (set, component) => {
    const recorded = own.get(`${set}\n${component}`) ?? everywhere.get(component) ?? []
    const ms = quantile(recorded, share)
    return ms === undefined ? { ms: ASSUMED_MS, isAssumed: true } : { ms: ms * 1_000, isAssumed: false }
  }
}
