// Which places the failures gather in: a host, a switch, a rack, a zone, a class of hardware. Pure. Where many machines of one place begin to fail in the same way
// within minutes, the place is ill and not each of them; one place is named for the same failures, the one that explains the most with the fewest machines.
import type { Unit } from '../unit.ts'
import { type Cohort, cohortKey, cohortsOf, isPlace } from './cohorts.ts'
import type { CohortSizes } from './cohort-sizes.ts'
import type { Suspicion } from './suspicion.ts'

/** Failures of one cause look alike: a network takes heartbeats, a power supply takes hosts, a bad batch of disks asks for repairs. */
export type FaultFamily = 'Silent' | 'Down' | 'HostEvent' | 'Repair'

export interface Trouble {
  readonly unit: Unit
  readonly family: FaultFamily
  readonly since: number
}

/** Two at once happen by chance. */
const LEAST_FAILING = 3
/** Of a single host the guests are few: all of them, and not only one. */
const LEAST_OF_HOST = 2
/** Of the machines of the place. */
const ENTER_SHARE = 0.2
/** Less than it took to begin: a place that recovers machine by machine is not declared well and ill in turns. */
const STAY_SHARE = 0.05
/** One cause shows on all within this time: periods of detectors, and the grace of heartbeats. */
const TOGETHER_MS = 10 * 60_000
/** Where as many fail everywhere the cause is in no place: limits for the whole cluster see to that. */
const TIMES_WORSE = 3
/** Names for people; the count says how many there are. */
const MOST_NAMED = 20
const MOST_PLACES = 8

/** `open`: places that are ill already, and stay so until fewer than one in twenty fails. */
export function illPlaces(
  sizes: CohortSizes,
  troubles: readonly Trouble[],
  open: readonly Cohort[],
): readonly Suspicion[] {
  const stay = new Set(open.filter(isPlace).map(cohortKey))
  const found: Suspicion[] = []
  let left = troubles
  while (left.length > 0 && found.length < MOST_PLACES) {
    const best = worst(sizes, left, stay)
    if (best === undefined) break
    found.push(best)
    const key = cohortKey(best.cohort)
    left = left.filter((t) => !isIn(t.unit, key))
  }
  return found
}

const isIn = (unit: Unit, key: string): boolean => cohortsOf(unit).some((c) => isPlace(c) && cohortKey(c) === key)

function worst(sizes: CohortSizes, troubles: readonly Trouble[], stay: ReadonlySet<string>): Suspicion | undefined {
  const ill = new Set(troubles.map((t) => t.unit))
  const judged = placesOf(troubles).flatMap(({ cohort, key, here }) => {
    const isOpen = stay.has(key)
    const least = cohort.kind === 'Host' ? LEAST_OF_HOST : LEAST_FAILING
    const failing = new Set(here.map((t) => t.unit))
    if (!isOpen && failing.size < least) return []
    const members = sizes.of(key).served
    const share = failing.size / Math.max(1, members)
    const suspicion = {
      cohort,
      failing: failing.size,
      members,
      failingElsewhere: ill.size - failing.size,
      elsewhere: sizes.total.served - members,
      machines: [...failing]
        .map((u) => u.name)
        .toSorted()
        .slice(0, MOST_NAMED),
    }
    if (isOpen) return share >= STAY_SHARE ? [suspicion] : []
    const together = Math.max(...[...Map.groupBy(here, (t) => t.family).values()].map(mostTogether))
    const enough = cohort.kind === 'Host' ? together >= members : together >= members * ENTER_SHARE
    return together >= least && enough && isMuchWorse(suspicion) ? [suspicion] : []
  })
  return judged.toSorted(
    (a, b) => b.failing - a.failing || a.members - b.members || (cohortKey(a.cohort) < cohortKey(b.cohort) ? -1 : 1),
  )[0]
}

function placesOf(troubles: readonly Trouble[]) {
  const places = new Map<string, { readonly cohort: Cohort; readonly key: string; readonly here: Trouble[] }>()
  for (const trouble of troubles)
    for (const cohort of cohortsOf(trouble.unit)) {
      if (!isPlace(cohort)) continue
      const key = cohortKey(cohort)
      const known = places.get(key) ?? { cohort, key, here: [] }
      known.here.push(trouble)
      places.set(key, known)
    }
  return [...places.values()]
}

/** The most machines of which the faults began within one stretch of time. */
function mostTogether(troubles: readonly Trouble[]): number {
  const inTime = troubles.toSorted((a, b) => a.since - b.since)
  let from = 0
  let most = 0
  for (const [to, { since }] of inTime.entries()) {
    while (since - (inTime[from]?.since ?? since) > TOGETHER_MS) from++
    most = Math.max(most, to - from + 1)
  }
  return most
}

/** A place that is the whole fleet has nothing to be compared with. */
function isMuchWorse({ failing, members, failingElsewhere, elsewhere }: Suspicion): boolean {
  return elsewhere > 0 && failing / members >= TIMES_WORSE * (failingElsewhere / elsewhere)
}
