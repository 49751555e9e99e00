// The time by which rates, breakers and records of the Defender run: a stopwatch that continues where the ledger's `asOf` left it. A wall clock that
// jumps while the process lives moves it not at all. What passed while nobody ran is believed only as far as the API server's clock bears it out.
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
