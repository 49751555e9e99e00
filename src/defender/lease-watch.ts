// Decides when the lease of each granted permit expires, by our own stopwatch. The time counts from when we observed its renewTime change, whatever
// the requesters' clocks show. After a restart each lease starts again. That extends a permission slightly, but never a slot.
import type { OperationPermit } from '#api/kinds/operation-permit.ts'
import type { Clock } from '#lib/clock.ts'

interface Lease {
  readonly renewTime: string | undefined
  readonly deadline: number
}

export class LeaseWatch {
  readonly #clock: Clock
  #leases = new Map<string, Lease>()

  constructor(clock: Clock) {
    this.#clock = clock
  }

  /** Reads all permits. Drops those that are no longer granted. */
  observe(permits: readonly OperationPermit[]): void {
    const now = this.#clock.monotonic()
    const next = new Map<string, Lease>()
    for (const { metadata, spec, status } of permits) {
      if (status?.phase !== 'Granted') continue
      const uid = metadata.uid ?? ''
      const known = this.#leases.get(uid)
      const isSame = known !== undefined && known.renewTime === spec.renewTime
      next.set(uid, isSame ? known : { renewTime: spec.renewTime, deadline: now + spec.leaseSeconds * 1_000 })
    }
    this.#leases = next
  }

  over(): ReadonlySet<string> {
    const now = this.#clock.monotonic()
    return new Set([...this.#leases].filter(([, lease]) => lease.deadline <= now).map(([uid]) => uid))
  }

  /** Remaining milliseconds. Undefined if no lease runs. */
  left(uid: string): number | undefined {
    const lease = this.#leases.get(uid)
    return lease && lease.deadline - this.#clock.monotonic()
  }

  nextEndMs(): number | undefined {
    const now = this.#clock.monotonic()
    const ends = [...this.#leases.values()].map((l) => Math.max(0, l.deadline - now))
    return ends.length === 0 ? undefined : Math.min(...ends)
  }
}
