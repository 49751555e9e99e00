// Finds the places where failures cluster: a host, a switch, a rack, a zone, a hardware class. Pure. If many machines of one place start to fail in
// the same way within minutes, the place is at fault, not each machine. For the same failures only one place is named: the one that explains the most
// with the fewest machines.
import type { Unit } from '../unit.ts'
import { type Cohort, cohortKey, cohortsOf, isPlace } from './cohorts.ts'
import type { CohortSizes } from './cohort-sizes.ts'
import type { Suspicion } from './suspicion.ts'

/** Failures with one cause look alike: a network takes heartbeats, a power supply takes hosts, a bad batch of disks triggers repairs. */
export type FaultFamily = 'Silent' | 'Down' | 'HostEvent' | 'Repair'

export interface Trouble {
  readonly unit: Unit
  readonly family: FaultFamily
  readonly since: number
}

/** Two at once happen by chance. */
const LEAST_FAILING = 3
/** A single host has few guests: all of them must fail, and more than one. */
const LEAST_OF_HOST = 2
/** Share of the place's machines. */
const ENTER_SHARE = 0.2
/** Lower than the share that starts it, so that a place that recovers machine by machine does not flap. */
const STAY_SHARE = 0.05
/** One cause shows on all machines within this time: detector periods and heartbeat grace. */
const TOGETHER_MS = 10 * 60_000
/** If as many fail everywhere, no place is the cause. Cluster-wide limits cover that. */
const TIMES_WORSE = 3
/** Names for people. The total is in the count. */
const MOST_NAMED = 20
const MOST_PLACES = 8

/** `open`: places already at fault. They stay so until fewer than one in twenty machines fails. */
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

/** The most machines whose faults started within one time window. */
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

/** A place that is the whole fleet has nothing to compare with. */
function isMuchWorse({ failing, members, failingElsewhere, elsewhere }: Suspicion): boolean {
  return elsewhere > 0 && failing / members >= TIMES_WORSE * (failingElsewhere / elsewhere)
}
