// Decides which of the waiting tasks goes next, and when time moves instead: all from one seed, so that a run can be had again byte for byte.
import { type Random, seededRandom } from '#lib/random.ts'
import { isFull } from '../tools/full.ts'
import { type VirtualClock, settled } from './virtual-clock.ts'
import { sha256Hex } from '#lib/sha256.ts'

export interface RunLimits {
  /** Virtual time that may pass. */
  readonly forMs: number
  readonly mostSteps?: number
  /** Asked before each step. */
  readonly until?: () => boolean
}

export type RunEnd = 'Until' | 'Time' | 'Idle' | 'Steps'

interface Waiting {
  readonly owner: string
  readonly label: string
  readonly readyAt: number
  readonly go: () => void
}

/** Some tasks take their time before they wait for a turn, as messages on a network do. */
const LATE_SHARE = 1 / 4
const LATEST_MS = 20

/** Now and then a task is slow and time passes before it: but not so long that every deadline of the program is missed. */
const SLOW_SHARE = 1 / 16
const SLOWEST_MS = 2_000
/** Timers of one moment; more are left for the next step, so that a timer that arms itself for now cannot hang the run. */
const MOST_AT_ONCE = 10_000
const DEFAULT_MOST_STEPS = 200_000

export class SeededScheduler {
  readonly seed: number
  readonly #clock: VirtualClock
  readonly #random: Random
  readonly #trace: string[] = []
  readonly #held = new Set<string>()
  #waiting: Waiting[] = []

  constructor(seed: number, clock: VirtualClock) {
    this.seed = seed
    this.#clock = clock
    this.#random = seededRandom(seed)
  }

  /** Resolves when it is this task's turn. `owner` is whose turn it is, for `hold`. */
  turn(owner: string, label: string): Promise<void> {
    const lateMs = this.#random.next() < LATE_SHARE ? 1 + this.#random.below(LATEST_MS) : 0
    const readyAt = this.#clock.monotonic() + lateMs
    // Only makes time stop there; whether the task still waits is checked then.
    if (lateMs > 0) this.#clock.after(lateMs, () => undefined)
    return new Promise((go) => this.#waiting.push({ owner, label, readyAt, go }))
  }

  /** Tasks of the owner get no turn until `release`: what SIGSTOP does to a process. */
  hold(owner: string): void {
    this.#held.add(owner)
  }

  release(owner: string): void {
    this.#held.delete(owner)
  }

  /** Tasks of the owner wait for ever: what SIGKILL does. */
  drop(owner: string): void {
    this.#waiting = this.#waiting.filter((w) => w.owner !== owner)
  }

  note(text: string): void {
    this.#trace.push(`${this.#clock.monotonic()} ${text}`)
  }

  /** Everything that happened, in order. */
  trace(): readonly string[] {
    return this.#trace
  }

  /** Equal runs have equal digests. */
  digest(): string {
    return sha256Hex(this.#trace.join('\n'))
  }

  /** One turn of one task, or one timer. False when there is neither before `noLaterThan`. */
  async step(noLaterThan = Infinity): Promise<boolean> {
    await settled()
    const now = this.#clock.monotonic()
    const ready = this.#waiting.filter((w) => w.readyAt <= now && !this.#held.has(w.owner))
    if (ready.length === 0) return this.#moveTime(noLaterThan)
    const isSlow = this.#random.next() < SLOW_SHARE
    if (isSlow && this.#clock.fireNext(Math.min(noLaterThan, now + SLOWEST_MS))) return true
    const chosen = this.#random.pick(ready)
    this.#waiting.splice(this.#waiting.indexOf(chosen), 1)
    this.note(chosen.label)
    chosen.go()
    return true
  }

  /** All timers of one moment fire together, so that what they wake competes for the next turn. */
  #moveTime(noLaterThan: number): boolean {
    if (!this.#clock.fireNext(noLaterThan)) return false
    const now = this.#clock.monotonic()
    for (let more = 0; more < MOST_AT_ONCE && this.#clock.fireNext(now); more++);
    return true
  }

  async run({ forMs, mostSteps = DEFAULT_MOST_STEPS, until = () => false }: RunLimits): Promise<RunEnd> {
    const end = this.#clock.monotonic() + forMs
    for (let steps = 0; steps < mostSteps; steps++) {
      if (until()) return 'Until'
      if (this.#clock.monotonic() > end) return 'Time'
      if (await this.step(end)) continue
      const isIdle = this.#clock.nextTimerAt() === undefined
      // Nothing more happens before the end: be there.
      if (this.#clock.monotonic() < end) this.#clock.skip(end - this.#clock.monotonic())
      return isIdle ? 'Idle' : 'Time'
    }
    return 'Steps'
  }
}

/** Runs one scenario for many seeds; the first that fails names its seed, with which it fails again. */
export async function forSeeds(seeds: Iterable<number>, scenario: (seed: number) => Promise<void>): Promise<void> {
  for (const seed of seeds) {
    try {
      await scenario(seed)
    } catch (cause) {
      throw new Error(`seed ${seed}: ${cause instanceof Error ? cause.message : String(cause)}`, { cause })
    }
  }
}

/** The seeds in which a planted bug must show. The quick run begins with one that is known to show it; when a change makes that wrong, the search follows. */
export const mutantSeeds = (within: number, shownBy?: number): readonly number[] =>
  isFull || shownBy === undefined ? seeds(within) : [shownBy, ...seeds(within)]

/** `count` seeds from `from` on. SIM_SEED=42 studies one failure alone, SIM_SEED=1-1000 goes through a range before a release. */
export function seeds(count: number, from = 1, environment = process.env['SIM_SEED']): readonly number[] {
  const [first, last] = environment?.split('-').map(Number) ?? [from, from + count - 1]
  const [start = 0, end = start] = [first, last]
  return Array.from({ length: end - start + 1 }, (_, i) => start + i)
}
