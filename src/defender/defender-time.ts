// The clock for the Defender's rates, breakers and records: a stopwatch that continues from the ledger's `asOf`. A jump of the wall clock does not
// affect a running process. Time without a running Defender counts only if the API server's clock confirms it.
import type { Clock } from '#lib/clock.ts'

export class DefenderTime {
  readonly #clock: Clock
  readonly #witness: () => number | undefined
  #base: { readonly time: number; readonly monotonic: number } | undefined

  /** `witness`: the API server's wall clock, if known. */
  constructor(clock: Clock, witness: () => number | undefined = () => undefined) {
    this.#clock = clock
    this.#witness = witness
  }

  /** Milliseconds since 1970, never earlier than `asOf` or an earlier result. */
  at(asOf: number | undefined): number {
    const monotonic = this.#clock.monotonic()
    this.#base ??= { time: this.#first(asOf), monotonic }
    const now = this.#base.time + (monotonic - this.#base.monotonic)
    if (asOf === undefined || asOf <= now) return now
    this.#base = { time: asOf, monotonic }
    return asOf
  }

  #first(asOf: number | undefined): number {
    const wall = this.#clock.now()
    if (asOf === undefined) return wall
    return Math.max(asOf, Math.min(wall, this.#witness() ?? wall))
  }
}
