// Repeats a check until stopped, with a pause before each.
import type { Clock } from '#lib/clock.ts'

export class RepeatedCheck {
  readonly #clock: Clock
  readonly #end = new AbortController()
  #running: Promise<void> = Promise.resolve()

  constructor(clock: Clock) {
    this.#clock = clock
  }

  /** Aborts when stopped. */
  get signal(): AbortSignal {
    return this.#end.signal
  }

  /** `check` must not reject: it reports its own failures. */
  start(pauseMs: () => number, check: () => Promise<unknown>): void {
    this.#running = this.#run(pauseMs, check)
  }

  /** Cuts a pause short; waits for a running check. */
  async stop(): Promise<void> {
    this.#end.abort()
    await this.#running
  }

  async #run(pauseMs: () => number, check: () => Promise<unknown>): Promise<void> {
    const { signal } = this.#end
    while (!signal.aborted) {
      await this.#clock.sleep(pauseMs(), signal).catch(() => undefined)
      if (!signal.aborted) await check()
    }
  }
}
