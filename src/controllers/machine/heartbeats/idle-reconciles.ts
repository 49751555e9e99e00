// Skips reconciles that are due only because a machine could have fallen silent. While heartbeats continue they find nothing: with ten thousand
// machines, several hundred a second. Every other change wakes the machine. A rare resync covers changes without an event.
import { type Heartbeat, untilSilentMs } from './heartbeats.ts'

/** A machine is reconciled at least this often. */
const RESYNC_MS = 300_000

export interface IdleBounds {
  /** The Leases with the machine's heartbeats. */
  readonly heartbeats: () => readonly Heartbeat[]
  readonly bounds: readonly number[]
  /** When something other than a silence is due. */
  readonly otherMs: number | undefined
}

interface LastReconcile {
  idle?: { readonly about: IdleBounds; readonly silences: string; readonly until: number }
}

export class IdleReconciles {
  readonly #monotonic: () => number
  readonly #reconciles = new Map<string, LastReconcile>()

  constructor(monotonic: () => number) {
    this.#monotonic = monotonic
  }

  /** Milliseconds without need for a reconcile. Undefined if the machine must be reconciled now. */
  left(machine: string): number | undefined {
    const idle = this.#reconciles.get(machine)?.idle
    if (idle === undefined) return undefined
    const { about, silences, until } = idle
    const left = until - this.#monotonic()
    const heartbeats = about.heartbeats()
    if (left <= 0 || silencesOf(heartbeats, about.bounds) !== silences) return undefined
    return Math.min(left, ...lefts(heartbeats, about.bounds).filter((ms) => ms !== undefined))
  }

  /** A reconcile starts: events from now on count. */
  begin(machine: string): void {
    this.#reconciles.set(machine, {})
  }

  /** The reconcile found nothing to do. `seen` has the heartbeats that it read. A silence that started since then causes a new reconcile. */
  note(machine: string, about: IdleBounds, seen: readonly Heartbeat[]): void {
    const last = this.#reconciles.get(machine)
    if (last === undefined) return
    const until = this.#monotonic() + Math.min(about.otherMs ?? RESYNC_MS, RESYNC_MS)
    last.idle = { about, silences: silencesOf(seen, about.bounds), until }
  }

  /** It must be reconciled, whatever the last reconcile found. */
  over(machine: string): void {
    this.#reconciles.delete(machine)
  }

  allOver(): void {
    this.#reconciles.clear()
  }
}

const lefts = (heartbeats: readonly Heartbeat[], bounds: readonly number[]): readonly (number | undefined)[] =>
  heartbeats.flatMap((heartbeat) => bounds.map((bound) => untilSilentMs(heartbeat, bound)))

/** The bounds that have passed, per Lease. */
const silencesOf = (heartbeats: readonly Heartbeat[], bounds: readonly number[]): string =>
  [...heartbeats.map((b) => b.kind), ...lefts(heartbeats, bounds).map((ms) => ms === undefined)].join()
