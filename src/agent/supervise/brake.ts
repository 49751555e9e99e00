// The local brake: how soon a crashed process may be restarted without a permit. Each crash doubles the wait. A component that ran well for a while starts over.
export interface BrakeLimits {
  readonly firstMs: number
  readonly mostMs: number
  /** Running this long resets the count. */
  readonly forgetMs: number
}

const DEFAULT_BRAKE: BrakeLimits = { firstMs: 1_000, mostMs: 300_000, forgetMs: 600_000 }

/** This many crashes count as a loop. */
export const LOOP_CRASHES = 5

export class Brake {
  readonly #limits: BrakeLimits
  #crashes = 0
  #mayStartAt = 0

  constructor(limits: BrakeLimits = DEFAULT_BRAKE) {
    this.#limits = limits
  }

  get crashes(): number {
    return this.#crashes
  }

  crashed(now: number, ranMs: number): void {
    const { firstMs, mostMs, forgetMs } = this.#limits
    if (ranMs >= forgetMs) this.#crashes = 0
    this.#mayStartAt = now + Math.min(mostMs, firstMs * 2 ** Math.min(this.#crashes, 30))
    this.#crashes++
  }

  waitMs(now: number): number {
    return Math.max(0, this.#mayStartAt - now)
  }
}
