// Counts the machines of each cohort incrementally, so that a decision among ten thousand machines reads only the failing ones.
import type { Unit } from '../unit.ts'
import { cohortKey, cohortsOf } from './cohorts.ts'

export interface Members {
  readonly all: number
  /** Machines that serve now or served before. */
  readonly served: number
}

const NONE: Members = { all: 0, served: 0 }

export class CohortSizes {
  readonly #byKey = new Map<string, Members>()
  #total = NONE

  constructor(units: Iterable<Unit>) {
    for (const unit of units) this.replace(undefined, unit)
  }

  get total(): Members {
    return this.#total
  }

  of(key: string): Members {
    return this.#byKey.get(key) ?? NONE
  }

  replace(before: Unit | undefined, now: Unit | undefined): void {
    this.#count(before, -1)
    this.#count(now, 1)
  }

  #count(unit: Unit | undefined, by: 1 | -1): void {
    if (unit?.space !== 'machines') return
    const served = unit.health === 'NeverServed' ? 0 : by
    const added = (to: Members): Members => ({ all: to.all + by, served: to.served + served })
    this.#total = added(this.#total)
    for (const key of new Set(cohortsOf(unit).map(cohortKey))) {
      const members = added(this.of(key))
      if (members.all === 0) this.#byKey.delete(key)
      else this.#byKey.set(key, members)
    }
  }
}
