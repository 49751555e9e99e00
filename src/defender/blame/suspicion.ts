// Finds the cohorts in which failures cluster. Pure, and conservative: a cohort is suspected only if chance is an unlikely explanation and its
// members fail far more often than the rest. For the same failures only the likeliest cohort is named.
import type { Unit } from '../unit.ts'
import type { CohortSizes } from './cohort-sizes.ts'
import { COHORT_KINDS, type Cohort, cohortKey, cohortsOf } from './cohorts.ts'
import { chanceOf } from './significance.ts'

export interface Suspicion {
  readonly cohort: Cohort
  readonly failing: number
  readonly members: number
  readonly failingElsewhere: number
  readonly elsewhere: number
  /** For a place: its first failing machines, by name. */
  readonly machines?: readonly string[]
}

/** Two similar failures can be a coincidence. From three on they are examined. */
const LEAST_FAILING = 3
/** Across all tested cohorts: the probability of a false suspicion is one in ten thousand. */
const CHANCE = 1e-4
/** A cohort that is barely worse than the rest does not justify a stop, however significant the difference. */
const TIMES_WORSE = 3
/** With more simultaneous causes than this, blame is not meaningful. */
const MOST_SUSPICIONS = 4

interface Tally {
  readonly cohort: Cohort
  readonly members: number
  readonly failing: number
}

export function suspicions(sizes: CohortSizes, units: Iterable<Unit>): readonly Suspicion[] {
  const failing = new Set([...units].filter((u) => u.space === 'machines'))
  const found: Suspicion[] = []
  while (failing.size >= LEAST_FAILING && found.length < MOST_SUSPICIONS) {
    const best = likeliest(sizes, failing)
    if (best === undefined) break
    found.push(best)
    const key = cohortKey(best.cohort)
    // Failures that this cohort explains do not count against the others.
    for (const unit of failing) if (cohortsOf(unit).some((c) => cohortKey(c) === key)) failing.delete(unit)
  }
  return found
}

function likeliest(sizes: CohortSizes, failing: ReadonlySet<Unit>): Suspicion | undefined {
  const total = sizes.total.all
  const asked = tally(sizes, failing).filter((t) => t.members < total)
  const judged = asked
    .map((t) => ({ t, chance: chanceOf(countsOf(t, total, failing)) * asked.length }))
    .filter(({ t, chance }) => chance < CHANCE && isMuchWorse(t, total, failing.size))
    .toSorted((a, b) => a.chance - b.chance || b.t.failing - a.t.failing || inOrder(a.t.cohort, b.t.cohort))
  const best = judged[0]?.t
  return (
    best && {
      cohort: best.cohort,
      failing: best.failing,
      members: best.members,
      failingElsewhere: failing.size - best.failing,
      elsewhere: total - best.members,
    }
  )
}

const countsOf = (t: Tally, total: number, failing: ReadonlySet<Unit>) => ({
  total,
  failing: failing.size,
  members: t.members,
  failingMembers: t.failing,
})

/** With no failures elsewhere, assume half a failure, so that small fleets are judged too. */
function isMuchWorse({ members, failing }: Tally, total: number, allFailing: number): boolean {
  const elsewhere = Math.max(0.5, allFailing - failing) / (total - members)
  return failing / members >= TIMES_WORSE * elsewhere
}

/** A change is named before a place, because it can be reverted. */
const inOrder = (a: Cohort, b: Cohort): number =>
  COHORT_KINDS.indexOf(a.kind) - COHORT_KINDS.indexOf(b.kind) || (cohortKey(a) < cohortKey(b) ? -1 : 1)

/** Cohorts with enough failing members. */
function tally(sizes: CohortSizes, failing: ReadonlySet<Unit>): readonly Tally[] {
  const found = new Map<string, { readonly cohort: Cohort; failing: number }>()
  for (const unit of failing)
    for (const cohort of cohortsOf(unit)) {
      const key = cohortKey(cohort)
      const known = found.get(key) ?? { cohort, failing: 0 }
      known.failing++
      found.set(key, known)
    }
  return [...found].flatMap(([key, t]) => (t.failing < LEAST_FAILING ? [] : [{ ...t, members: sizes.of(key).all }]))
}
