// Keeps the last suspicions: they are asked again only when other machines fail, or the fleet is another, and not in each of many decisions a second.
import type { Clock } from '#lib/clock.ts'
import { type FailingSeen, failingUnits } from './failing.ts'
import { type Suspicion, suspicions } from './suspicion.ts'

/** Ten thousand machines with a dozen components take tens of milliseconds. */
const AT_MOST_EVERY_MS = 1_000

export class BlameWatch {
  readonly #clock: Clock
  #last: { readonly version: number; readonly failing: ReadonlySet<string>; readonly at: number } | undefined
  #suspicions: readonly Suspicion[] = []

  constructor(clock: Clock) {
    this.#clock = clock
  }

  observe(seen: FailingSeen): readonly Suspicion[] {
    const at = this.#clock.monotonic()
    const last = this.#last
    // Checked before any loop: there are many decisions a second.
    if (last !== undefined && at - last.at < AT_MOST_EVERY_MS) return this.#suspicions
    const failing = failingUnits(seen)
    if (last !== undefined && last.version === seen.fleet.version && sameSets(last.failing, failing))
      return this.#suspicions
    this.#last = { version: seen.fleet.version, failing, at }
    this.#suspicions = suspicions(seen.fleet.units, (u) => failing.has(u.id))
    return this.#suspicions
  }
}

const sameSets = (a: ReadonlySet<string>, b: ReadonlySet<string>): boolean =>
  a.size === b.size && [...a].every((x) => b.has(x))
