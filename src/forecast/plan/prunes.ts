// How a plan presents deletions that the prune guard stops. Pure.
import { counted } from '#lib/counted.ts'
import type { PromisedPrune, UnknownPrune } from '../prunes.ts'
import { someOf } from '#lib/some-of.ts'

/** The full digest: a reader compares it, and the command accepts no prefix. */
export const approveCommand = ({ digest }: PromisedPrune): string => `kubenode approve sha256:${digest}`

export function guardText({ count, first, machines = 0, guard, allowed, allowedMachines }: PromisedPrune): string {
  const lost = machines === 0 ? '' : `${counted(machines, 'machine')}${limit(allowedMachines)} and `
  // This few objects are held only because of a Cluster's machines.
  const isUncounted = machines === 0 && allowed !== undefined && count <= allowed
  const all = isUncounted
    ? `${counted(count, 'object')} with machines whose number is not known`
    : `${lost}${counted(count, 'object')}${limit(allowed)}`
  return guard === undefined
    ? `deletes ${all}, the first is ${first}; if that exceeds the prune guard of the source, which no inventory has, it waits for an approval`
    : `deletes ${all}, the first is ${first}; the prune guard (${guard}) holds this until it is approved`
}

const limit = (allowed: number | undefined): string => (allowed === undefined ? '' : ` (limit ${allowed})`)

export const pruneDoubt = ({ takenAt, mayDiffer }: PromisedPrune): string =>
  `by the inventory of ${takenAt}${mayDiffer === undefined ? '' : `; the digest may differ: ${mayDiffer}`}`

/** Clusters listed per cause. */
const MOST_NAMED = 5

export const unknownTexts = (all: readonly UnknownPrune[]): readonly string[] =>
  [...Map.groupBy(all, (u) => u.why)].map(([why, of]) => {
    const names = someOf(
      of.map((u) => u.cluster),
      MOST_NAMED,
    )
    return `${names}: whether the prune guard stops the deletions is unknown: ${why}`
  })
