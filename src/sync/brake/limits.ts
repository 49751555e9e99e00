// The limits for the whole fleet, from the hub's DefenderPolicies: the lowest of each applies. Pure.
import { DEFAULT_FAILED_CLUSTERS, DEFAULT_REPAIRS_PER_HOUR, type DefenderPolicy } from '#api/kinds/defender-policy.ts'

export interface BrakeLimits {
  /** Undefined: any number of clusters may change at once. */
  readonly maxChanging: number | undefined
  readonly failedClusters: number
  readonly repairsPerHour: number
}

/** A policy in mode Audit limits nothing. */
export function brakeLimits(policies: readonly DefenderPolicy[]): BrakeLimits {
  const all = policies.flatMap(({ spec }) => (spec.mode === 'Audit' ? [] : (spec.fleet ?? [])))
  const lowest = (of: (limits: (typeof all)[number]) => number | undefined): number | undefined => {
    const found = all.flatMap((limits) => of(limits) ?? [])
    return found.length === 0 ? undefined : Math.min(...found)
  }
  return {
    maxChanging: lowest(({ maxChanging }) => maxChanging),
    failedClusters: lowest(({ failedClusters }) => failedClusters) ?? DEFAULT_FAILED_CLUSTERS,
    repairsPerHour: lowest(({ repairsPerHour }) => repairsPerHour) ?? DEFAULT_REPAIRS_PER_HOUR,
  }
}
