// Skips reconciles that are due only because a machine could have fallen silent. While its heartbeats continue they find nothing: at ten thousand machines some
// hundred a second. Every other change wakes the machine, which is then reconciled; a rare resync covers changes that no event announced.
import { type Heartbeat, untilSilentMs } from './heartbeats.ts'

/** A machine is reconciled at least this often. */
const RESYNC_MS = 300_000

export interface Quiet {
  /** The Leases that beat for the machine. */
  readonly beats: () => readonly Heartbeat[]
  readonly bounds: readonly number[]
  /** When something else than a silence is due. */
  readonly otherMs: number | undefined
}

interface LastReconcile {
  quiet?: { readonly about: Quiet; readonly silences: string; readonly until: number }
}

export class IdleReconciles {
  readonly #monotonic: () => number
  readonly #reconciles = new Map<string, LastReconcile>()

  constructor(monotonic: () => number) {
    this.#monotonic = monotonic
  }

  /** Milliseconds without need for a reconcile; undefined when the machine must be reconciled now. */
  left(machine: string): number | undefined {
    const quiet = this.#reconciles.get(machine)?.quiet
    if (quiet === undefined) return undefined
    const { about, silences, until } = quiet
    const left = until - this.#monotonic()
    const beats = about.beats()
    if (left <= 0 || silencesOf(beats, about.bounds) !== silences) return undefined
    return Math.min(left, ...lefts(beats, about.bounds).filter((ms) => ms !== undefined))
  }

  /** A reconcile begins: events from now on count. */
  begin(machine: string): void {
    this.#reconciles.set(machine, {})
  }

  /** The reconcile found nothing to do. `seen` holds the heartbeats that it read: a silence that began since then causes a new reconcile. */
  note(machine: string, about: Quiet, seen: readonly Heartbeat[]): void {
    const last = this.#reconciles.get(machine)
    if (last === undefined) return
    const until = this.#monotonic() + Math.min(about.otherMs ?? RESYNC_MS, RESYNC_MS)
    last.quiet = { about, silences: silencesOf(seen, about.bounds), until }
  }

  /** It must be reconciled, whatever was found before. */
  over(machine: string): void {
    this.#reconciles.delete(machine)
  }

  allOver(): void {
    this.#reconciles.clear()
  }
}

const lefts = (beats: readonly Heartbeat[], bounds: readonly number[]): readonly (number | undefined)[] =>
  beats.flatMap((beat) => bounds.map((bound) => untilSilentMs(beat, bound)))

/** Which bounds have passed, for which Lease. */
const silencesOf = (beats: readonly Heartbeat[], bounds: readonly number[]): string =>
  [...beats.map((b) => b.kind), ...lefts(beats, bounds).map((ms) => ms === undefined)].join()
