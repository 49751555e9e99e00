// The clock for the Defender's rates, breakers and records: a stopwatch that continues from the ledger's `asOf`. A wall clock that jumps while the process
// lives does not affect it. Time that passed while no Defender ran counts only as far as the API server's clock confirms it.
import type { Clock } from '#lib/clock.ts'

export class DefenderTime {
  readonly #clock: Clock
  readonly #witness: () => number | undefined
  #base: { readonly time: number; readonly monotonic: number } | undefined

  /** `witness`: the API server's wall clock, where it is known. */
  constructor(clock: Clock, witness: () => number | undefined = () => undefined) {
    this.#clock = clock
    this.#witness = witness
  }

  /** Milliseconds since 1970, never before `asOf` and never before what was answered earlier. */
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
