// A rate limit per client with a burst (a token bucket).
import type { Rate } from './levels.ts'

/** Cached clients; beyond it those with all their tokens are forgotten. */
const REMEMBERED = 4_096

export class Quota {
  readonly #now: () => number
  readonly #used = new Map<string, { used: number; at: number }>()

  /** `now` is monotonic. */
  constructor(now: () => number) {
    this.#now = now
  }

  /** Seconds until so many are available; 0: now. */
  take(flow: string, { perSecond, burst }: Rate, amount: number): number {
    if (perSecond === Number.POSITIVE_INFINITY) return 0
    const now = this.#now()
    const before = this.#used.get(flow)
    const used = before === undefined ? 0 : Math.max(0, before.used - ((now - before.at) / 1_000) * perSecond)
    const over = used + amount - burst
    if (over > 0) return Math.max(1, Math.ceil(over / perSecond))
    if (before === undefined && this.#used.size >= REMEMBERED) this.#forget(perSecond)
    this.#used.set(flow, { used: used + amount, at: now })
    return 0
  }

  #forget(perSecond: number): void {
    const now = this.#now()
    for (const [flow, { used, at }] of this.#used) if (used <= ((now - at) / 1_000) * perSecond) this.#used.delete(flow)
  }
}
