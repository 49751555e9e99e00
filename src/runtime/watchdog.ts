// Detects silence: a watch or loop without a sign of life for longer than its bound is Stalled until the next one.
import type { Clock, Timer } from '#lib/clock.ts'

export interface Silent {
  readonly part: string
  readonly silentMs: number
  readonly boundMs: number
}

export interface WatchdogOptions {
  readonly clock: Pick<Clock, 'monotonic' | 'after'>
  readonly onStalled: (silent: Silent) => void
  readonly onRecovered: (part: string) => void
  readonly everyMs?: number
}

interface Watched {
  readonly boundMs: number
  readonly lastLifeAt: () => number
  isStalled: boolean
}

const DEFAULT_EVERY_MS = 1_000
/** If a check is this many intervals late, the whole process was stopped, and silence does not count. */
const MISSED_CHECKS = 5

export class Watchdog {
  readonly #options: WatchdogOptions
  readonly #everyMs: number
  readonly #parts = new Map<string, Watched>()
  #timer: Timer | undefined
  #lastCheckAt = 0
  /** Silence before this time is ignored. */
  #forgivenUntil = 0

  constructor(options: WatchdogOptions) {
    this.#options = options
    this.#everyMs = options.everyMs ?? DEFAULT_EVERY_MS
  }

  /** `lastLifeAt` returns monotonic time, for parts that record it themselves. */
  watch(part: string, boundMs: number, lastLifeAt: () => number): void {
    this.#parts.set(part, { boundMs, lastLifeAt, isStalled: false })
  }

  /** For parts that call a function on each sign of life. */
  heartbeatOf(part: string, boundMs: number): () => void {
    let at = this.#options.clock.monotonic()
    this.watch(part, boundMs, () => at)
    return () => void (at = this.#options.clock.monotonic())
  }

  unwatch(part: string): void {
    this.#parts.delete(part)
  }

  start(): void {
    if (this.#timer !== undefined) return
    this.#lastCheckAt = this.#options.clock.monotonic()
    this.#arm()
  }

  stop(): void {
    this.#timer?.cancel()
    this.#timer = undefined
  }

  /** The current state, whether or not a check is due. */
  silent(): readonly Silent[] {
    const now = this.#options.clock.monotonic()
    return [...this.#parts].flatMap(([part, { boundMs, lastLifeAt }]) => {
      const silentMs = now - Math.max(lastLifeAt(), this.#forgivenUntil)
      return silentMs > boundMs ? [{ part, silentMs, boundMs }] : []
    })
  }

  #arm(): void {
    this.#timer = this.#options.clock.after(this.#everyMs, () => {
      this.#check()
      this.#arm()
    })
  }

  #check(): void {
    const now = this.#options.clock.monotonic()
    if (now - this.#lastCheckAt > MISSED_CHECKS * this.#everyMs) this.#forgivenUntil = now
    this.#lastCheckAt = now
    const silent = new Map(this.silent().map((s) => [s.part, s]))
    for (const [part, watched] of this.#parts) {
      const now = silent.get(part)
      if (watched.isStalled === (now !== undefined)) continue
      watched.isStalled = now !== undefined
      if (now === undefined) this.#options.onRecovered(part)
      else this.#options.onStalled(now)
    }
  }
}
