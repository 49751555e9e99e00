// Which cohorts the failures gather in. Pure, and careful: a cohort is suspected only when chance hardly explains it and its members fail far more
// often than the rest. One cohort is named for the same failures, the likeliest.
import type { Unit } from '../unit.ts'
import { COHORT_KINDS, type Cohort, cohortKey, cohortsOf } from './cohorts.ts'
import { chanceOf } from './significance.ts'

export interface Suspicion {
  readonly cohort: Cohort
  readonly failing: number
  readonly members: number
  readonly failingElsewhere: number
  readonly elsewhere: number
  /** Of a place: the first of those that fail, by name. */
  readonly machines?: readonly string[]
}

/** Two similar failures can be an accident; from three on they are examined. */
const LEAST_FAILING = 3
/** For all cohorts that are tested together: the chance that a fleet is suspected without a cause is one in ten thousand. */
const CHANCE = 1e-4
/** What is hardly worse than the rest is not worth stopping for, however sure it is. */
const TIMES_WORSE = 3
/** More causes than this at once are no causes that this can tell. */
const MOST_SUSPICIONS = 4

interface Tally {
  readonly cohort: Cohort
  members: number
  failing: number
}

export function suspicions(units: readonly Unit[], isFailing: (unit: Unit) => boolean): readonly Suspicion[] {
  const machines = units.filter((u) => u.space === 'machines')
  const failing = new Set(machines.filter(isFailing))
  const found: Suspicion[] = []
  while (failing.size >= LEAST_FAILING && found.length < MOST_SUSPICIONS) {
    const best = likeliest(machines, failing)
    if (best === undefined) break
    found.push(best)
    const key = cohortKey(best.cohort)
    // What this one explains says nothing about the others.
    for (const unit of failing) if (cohortsOf(unit).some((c) => cohortKey(c) === key)) failing.delete(unit)
  }
  return found
}

function likeliest(machines: readonly Unit[], failing: ReadonlySet<Unit>): Suspicion | undefined {
  const tallies = tally(machines, failing)
  const asked = tallies.filter((t) => t.failing >= LEAST_FAILING && t.members < machines.length)
  const judged = asked
    .map((t) => ({ t, chance: chanceOf(countsOf(t, machines, failing)) * asked.length }))
    .filter(({ t, chance }) => chance < CHANCE && isMuchWorse(t, machines.length, failing.size))
    .toSorted((a, b) => a.chance - b.chance || b.t.failing - a.t.failing || inOrder(a.t.cohort, b.t.cohort))
  const best = judged[0]?.t
  return (
    best && {
      cohort: best.cohort,
      failing: best.failing,
      members: best.members,
      failingElsewhere: failing.size - best.failing,
      elsewhere: machines.length - best.members,
    }
  )
}

const countsOf = (t: Tally, machines: readonly Unit[], failing: ReadonlySet<Unit>) => ({
  total: machines.length,
  failing: failing.size,
  members: t.members,
  failingMembers: t.failing,
})

/** Without a single failure elsewhere, half a failure is assumed, so that small fleets are judged too. */
function isMuchWorse({ members, failing }: Tally, total: number, allFailing: number): boolean {
  const elsewhere = Math.max(0.5, allFailing - failing) / (total - members)
  return failing / members >= TIMES_WORSE * elsewhere
}

/** A change is named before a place, because it can be reverted. */
const inOrder = (a: Cohort, b: Cohort): number =>
  COHORT_KINDS.indexOf(a.kind) - COHORT_KINDS.indexOf(b.kind) || (cohortKey(a) < cohortKey(b) ? -1 : 1)

/** Only cohorts with enough failing members are counted over the whole fleet. */
function tally(machines: readonly Unit[], failing: ReadonlySet<Unit>): readonly Tally[] {
  const tallies = new Map<string, Tally>()
  for (const unit of failing)
    for (const cohort of cohortsOf(unit)) {
      const key = cohortKey(cohort)
      const known = tallies.get(key)
      if (known === undefined) tallies.set(key, { cohort, members: 0, failing: 1 })
      else known.failing++
    }
  for (const [key, t] of tallies) if (t.failing < LEAST_FAILING) tallies.delete(key)
  if (tallies.size > 0)
    for (const unit of machines)
      for (const cohort of cohortsOf(unit)) {
        const known = tallies.get(cohortKey(cohort))
        if (known !== undefined) known.members++
      }
  return [...tallies.values()]
}
