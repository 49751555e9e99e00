// When a provider makes the hosts that a simulated cluster orders: at once, unless the scenario limits it. Orders wait in the order in which they come.
import type { ProviderLimit } from '#api/scenario.ts'
import { parseDuration } from '#lib/duration.ts'

const HOUR_MS = 3_600_000

interface Limit {
  readonly from: number
  readonly to: number
  readonly perHour: number
  /** When the next order under it is taken. */
  nextAt: number
}

export class Creations {
  readonly #waits: { readonly from: number; readonly to: number }[] = []
  readonly #limits: readonly Limit[]

  constructor(limits: readonly ProviderLimit[] = [], begin = 0) {
    this.#limits = limits.map(({ at, for: lasts, perHour }) => {
      const from = begin + (at === undefined ? 0 : parseDuration(at))
      return { from, to: from + parseDuration(lasts), perHour, nextAt: from }
    })
  }

  /** When the provider begins with a host that is ordered now. */
  order(now: number): number {
    const at = this.#turnAt(now)
    this.#waits.push({ from: now, to: at })
    return at
  }

  /** How long orders waited in total until `end`; their turn may come after it. */
  waitedMs(end: number): number {
    return this.#waits.reduce((sum, { from, to }) => sum + Math.min(to, end) - from, 0)
  }

  /** Limits that overlap or follow each other all apply. */
  #turnAt(now: number): number {
    let at = now
    for (let moved = true; moved;) {
      moved = false
      for (const limit of this.#limits) {
        if (at < limit.from || at >= limit.to) continue
        const turn = limit.perHour === 0 ? limit.to : Math.min(limit.to, Math.max(at, limit.nextAt))
        if (turn === at) continue
        at = turn
        moved = true
      }
    }
    for (const limit of this.#limits)
      if (limit.perHour > 0 && at >= limit.from && at < limit.to) limit.nextAt = at + HOUR_MS / limit.perHour
    return at
  }
}
