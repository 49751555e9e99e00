// A blamed change stays blamed until a user reverts it. While repairs and the rollout are blocked the failures age, and that must not restart the
// rollout. No commit can revert a place (rack, zone) or a kernel: its blame ends when its failures have stopped.
import type { LedgerSpec } from '#api/kinds/defender-ledger.ts'
import type { Machine } from '#api/kinds/machine.ts'
import { machine } from '#api/kinds/machine.ts'
import { timestamp } from '#lib/clock.ts'
import type { Unit } from '../unit.ts'
import { type Cohort, cohortKey, cohortsOf } from './cohorts.ts'
import { REMEMBERED_MS } from './failing.ts'
import type { Suspicion } from './suspicion.ts'

export type Blame = NonNullable<LedgerSpec['blames']>[number]

/** The limit of the kind. The newest stay. */
export const MOST_BLAMES = 16
/** Evidence is updated at most this often: each update writes the ledger. */
const REFRESH_MS = 5 * 60_000

export interface BlameGround {
  /** The Defender's time. */
  readonly now: number
  /** Whether any machine still has the cohort's shared property, or is ordered to. */
  readonly isPresent: (cohort: Cohort) => boolean
  /** Components that a user allowed to retry. */
  readonly retried: ReadonlySet<string>
}

export const cohortOf = ({ kind, component, value }: Blame): Cohort => ({
  kind,
  value,
  ...(component !== undefined && component !== '' && { component }),
})

export function latched(
  before: readonly Blame[],
  found: readonly Suspicion[],
  { now, isPresent, retried }: BlameGround,
): readonly Blame[] {
  const isForgiven = (blame: Blame): boolean => {
    const cohort = cohortOf(blame)
    if (cohort.component === undefined) return now - Date.parse(blame.seenAt) > REMEMBERED_MS
    return retried.has(cohort.component) || !isPresent(cohort)
  }
  const kept = new Map(before.filter((b) => !isForgiven(b)).map((b) => [cohortKey(cohortOf(b)), b]))
  for (const suspicion of found) {
    const { cohort } = suspicion
    if (cohort.component !== undefined && retried.has(cohort.component)) continue
    const known = kept.get(cohortKey(cohort))
    if (known !== undefined && now - Date.parse(known.seenAt) < REFRESH_MS) continue
    kept.set(cohortKey(cohort), blameOf(suspicion, known?.since ?? timestamp(now), now))
  }
  const newest = [...kept.values()].toSorted((a, b) => Date.parse(b.since) - Date.parse(a.since)).slice(0, MOST_BLAMES)
  return newest.toSorted((a, b) => (cohortKey(cohortOf(a)) < cohortKey(cohortOf(b)) ? -1 : 1))
}

const blameOf = (
  { cohort, failing, members, failingElsewhere, elsewhere, machines }: Suspicion,
  since: string,
  now: number,
): Blame => ({
  kind: cohort.kind,
  component: cohort.component ?? '',
  value: cohort.value,
  since,
  seenAt: timestamp(now),
  failing,
  members,
  failingElsewhere,
  elsewhere,
  ...(machines !== undefined && machines.length > 0 && { machines: [...machines] }),
})

/** A machine runs it, or has it in its spec. */
export function isPresent(units: readonly Unit[], cohort: Cohort): boolean {
  const key = cohortKey(cohort)
  return units.some((unit) => cohortsOf(unit).some((c) => cohortKey(c) === key) || isOfCohort(unit, cohort))
}

function isOfCohort({ source }: Unit, { kind, component, value }: Cohort): boolean {
  if (source.kind !== machine.kind) return false
  const order = (source as Machine).spec.components?.find((c) => c.name === component)
  return (kind === 'Component' ? order?.version : order?.config) === value
}
