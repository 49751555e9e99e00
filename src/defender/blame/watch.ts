// Keeps the last suspicions. They are recomputed only if the failing machines or the fleet changed, not for each of many decisions a second.
import type { Clock } from '#lib/clock.ts'
import type { Fleet } from '../fleet.ts'
import { type Cohort, cohortKey, cohortsOf, isPlace } from './cohorts.ts'
import { failingUnits } from './failing.ts'
import { illPlaces } from './places.ts'
import { type Suspicion, suspicions } from './suspicion.ts'
import { type TroublesSeen, troublesOf } from './troubles.ts'

/** With thousands of failing machines it takes tens of milliseconds. */
const AT_MOST_EVERY_MS = 1_000

export class BlameWatch {
  readonly #clock: Clock
  #last: { readonly version: number; readonly seen: ReadonlySet<string>; readonly at: number } | undefined
  #suspicions: readonly Suspicion[] = []

  constructor(clock: Clock) {
    this.#clock = clock
  }

  /** `open`: already blamed. */
  observe(seen: TroublesSeen & { readonly fleet: Fleet }, open: readonly Cohort[]): readonly Suspicion[] {
    const at = this.#clock.monotonic()
    const last = this.#last
    // Checked before any loop: there are many decisions a second.
    if (last !== undefined && at - last.at < AT_MOST_EVERY_MS) return this.#suspicions
    const failing = failingUnits(seen)
    const troubles = troublesOf(seen)
    const all = new Set([
      ...[...failing].map((u) => u.id),
      ...troubles.map((t) => `${t.family} ${t.unit.id} ${t.since}`),
      ...open.map(cohortKey),
    ])
    if (last !== undefined && last.version === seen.fleet.version && sameSets(last.seen, all)) return this.#suspicions
    this.#last = { version: seen.fleet.version, seen: all, at }
    const { cohorts } = seen.fleet
    const changes = suspicions(cohorts, failing)
    // Failures that a change explains prove nothing about a place.
    const explained = new Set(changes.filter((s) => !isPlace(s.cohort)).map((s) => cohortKey(s.cohort)))
    const left = troubles.filter((t) => !cohortsOf(t.unit).some((c) => explained.has(cohortKey(c))))
    const places = illPlaces(cohorts, left, open)
    const named = new Set(places.map((s) => cohortKey(s.cohort)))
    this.#suspicions = [...places, ...changes.filter((s) => !named.has(cohortKey(s.cohort)))]
    return this.#suspicions
  }
}

const sameSets = (a: ReadonlySet<string>, b: ReadonlySet<string>): boolean =>
  a.size === b.size && [...a].every((x) => b.has(x))
