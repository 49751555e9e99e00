// How long this process has known something, by its monotonic clock. A restarted process counts from zero: a wait gets longer, never shorter.
import type { Clock } from '#lib/clock.ts'

export class KnownSince {
  readonly #clock: Pick<Clock, 'monotonic'>
  #since = new Map<string, number>()

  constructor(clock: Pick<Clock, 'monotonic'>) {
    this.#clock = clock
  }

  /** Everything known now; anything else is forgotten. */
  observe(things: readonly string[]): void {
    const now = this.#clock.monotonic()
    this.#since = new Map(things.map((t) => [t, this.#since.get(t) ?? now]))
  }

  ms(thing: string): number {
    const since = this.#since.get(thing)
    return since === undefined ? 0 : this.#clock.monotonic() - since
  }
}
