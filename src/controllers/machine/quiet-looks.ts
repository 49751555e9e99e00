// Looks that are due only because a machine could have fallen silent. As long as it beats they find nothing: at ten thousand machines some hundred a second.
// Whatever else may have changed wakes the machine, and then it is looked at; now and then it is all the same, in case that something told nobody.
import { type Heartbeat, untilSilentMs } from './heartbeats.ts'

/** A machine is looked at this often at least. */
const RESYNC_MS = 300_000

export interface Quiet {
  /** The Leases that beat for the machine. */
  readonly beats: () => readonly Heartbeat[]
  readonly bounds: readonly number[]
  /** When something else than a silence is due. */
  readonly otherMs: number | undefined
}

interface Look {
  quiet?: { readonly about: Quiet; readonly silences: string; readonly until: number }
}

export class QuietLooks {
  readonly #monotonic: () => number
  readonly #looks = new Map<string, Look>()

  constructor(monotonic: () => number) {
    this.#monotonic = monotonic
  }

  /** Milliseconds for which nothing has to be looked at; undefined when the machine is to be looked at now. */
  left(machine: string): number | undefined {
    const quiet = this.#looks.get(machine)?.quiet
    if (quiet === undefined) return undefined
    const { about, silences, until } = quiet
    const left = until - this.#monotonic()
    const beats = about.beats()
    if (left <= 0 || silencesOf(beats, about.bounds) !== silences) return undefined
    return Math.min(left, ...lefts(beats, about.bounds).filter((ms) => ms !== undefined))
  }

  /** A look begins: what wakes the machine from now on counts. */
  begin(machine: string): void {
    this.#looks.set(machine, {})
  }

  /** The look found nothing to do. Which silences it knew of is by the beats that it saw: one that began since is looked at. */
  note(machine: string, about: Quiet, seen: readonly Heartbeat[]): void {
    const look = this.#looks.get(machine)
    if (look === undefined) return
    const until = this.#monotonic() + Math.min(about.otherMs ?? RESYNC_MS, RESYNC_MS)
    look.quiet = { about, silences: silencesOf(seen, about.bounds), until }
  }

  /** It is to be looked at, whatever was found before. */
  over(machine: string): void {
    this.#looks.delete(machine)
  }

  allOver(): void {
    this.#looks.clear()
  }
}

const lefts = (beats: readonly Heartbeat[], bounds: readonly number[]): readonly (number | undefined)[] =>
  beats.flatMap((beat) => bounds.map((bound) => untilSilentMs(beat, bound)))

/** Which bounds have passed, for which Lease. */
const silencesOf = (beats: readonly Heartbeat[], bounds: readonly number[]): string =>
  [...beats.map((b) => b.kind), ...lefts(beats, bounds).map((ms) => ms === undefined)].join()
