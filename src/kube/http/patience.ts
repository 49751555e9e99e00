// Low-traffic clients wait briefly for a busy connection before opening another: a handshake costs six heartbeats, and occasional requests often coincide. A
// hanging request delays others by no more than that.
import type { Clock } from '#lib/clock.ts'

export class Patience {
  readonly #clock: Clock
  readonly #ms: number
  readonly #waiting = new Set<() => void>()
  #busy = 0

  constructor(clock: Clock, ms: number) {
    this.#clock = clock
    this.#ms = ms
  }

  /** Returns the function to call once the connection is free again. */
  async turn(isOneFree: () => boolean, signal: AbortSignal): Promise<() => void> {
    if (this.#ms > 0 && this.#busy > 0 && !isOneFree()) await this.#aMoment(signal)
    this.#busy++
    let isOver = false
    return () => {
      if (isOver) return
      isOver = true
      this.#busy--
      const [next] = this.#waiting
      next?.()
    }
  }

  #aMoment(signal: AbortSignal): Promise<void> {
    return new Promise((resolve, reject) => {
      const done = (): void => {
        timer.cancel()
        signal.removeEventListener('abort', onAbort)
        this.#waiting.delete(done)
        resolve()
      }
      const onAbort = (): void => {
        reject(signal.reason)
        done()
      }
      const timer = this.#clock.after(this.#ms, done)
      signal.addEventListener('abort', onAbort, { once: true })
      this.#waiting.add(done)
    })
  }
}
