// The conditions that may fail a pull request, and whether a plan meets them. Pure.
import { assertNever } from '#lib/errors.ts'
import type { ClusterDifference } from '#sync/difference.ts'
import type { Loosened } from '../loosened/loosened.ts'
import type { Outlook } from './outlook.ts'

export const FAIL_ON = [
  'risk=medium',
  'risk=high',
  'unknown',
  'uncovered-class',
  'deletions',
  'stuck',
  'loosened',
] as const
export type FailOn = (typeof FAIL_ON)[number]

interface Findings {
  readonly all: readonly ClusterDifference[]
  readonly outlook: Outlook | undefined
  readonly loosened: readonly Loosened[]
  readonly deletes: boolean
}

/** Without an inventory nothing is known about machines; `unknown` covers that. */
export function isFound(what: FailOn, { all, outlook, loosened, deletes }: Findings): boolean {
  const { risk } = outlook ?? {}
  const isChanged = all.some((d) => d.changes.length > 0)
  switch (what) {
    case 'risk=medium':
      return risk === 'Medium' || risk === 'High'
    case 'risk=high':
      return risk === 'High'
    case 'unknown':
      return isChanged && (outlook === undefined || outlook.unknown.length > 0)
    case 'uncovered-class':
      return (outlook?.uncovered.length ?? 0) > 0
    case 'deletions':
      return deletes
    case 'loosened':
      return loosened.length > 0
    case 'stuck':
      return outlook?.clusters.some((c) => c.prediction.stuck.length > 0) === true
    default:
      return assertNever(what)
  }
}
