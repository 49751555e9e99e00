// How long ago each Lease was last renewed, by our own clock. Timestamps written by nodes come from clocks that may be wrong.

export type Heartbeat =
  /** The Lease does not exist. */
  | { readonly kind: 'None' }
  /** The Lease exists, but was not renewed while we watched. The heartbeats may have stopped before that. */
  | { readonly kind: 'Unsure'; readonly watchedMs: number }
  | { readonly kind: 'Heard'; readonly agoMs: number }

interface Sight {
  readonly renewal: string
  readonly at: number
  readonly isFirst: boolean
}

export class Heartbeats {
  readonly #monotonic: () => number
  readonly #sights = new Map<string, Sight>()
  #latestAt: number
  /** When the latest gap without any renewal ended. */
  #steadySince: number

  constructor(monotonic: () => number) {
    this.#monotonic = monotonic
    this.#latestAt = monotonic()
    this.#steadySince = this.#latestAt
  }

  /** How long renewals of any Lease have arrived without a gap, in which all machines are silent. */
  get steadyMs(): number {
    const now = this.#monotonic()
    return now - this.#latestAt > SILENT_AFTER_MS ? 0 : now - this.#steadySince
  }

  /** Records a Lease's renewal. Returns how long it was silent before, or undefined if it is new or unchanged. */
  note(lease: string, renewTime: string | undefined): number | undefined {
    const renewal = renewTime ?? ''
    const before = this.#sights.get(lease)
    if (before?.renewal === renewal) return undefined
    const at = this.#monotonic()
    this.#sights.set(lease, { renewal, at, isFirst: before === undefined })
    if (at - this.#latestAt > SILENT_AFTER_MS) this.#steadySince = at
    this.#latestAt = at
    return before && at - before.at
  }

  forget(lease: string): void {
    this.#sights.delete(lease)
  }

  read(lease: string): Heartbeat {
    const sight = this.#sights.get(lease)
    if (sight === undefined) return { kind: 'None' }
    const ms = this.#monotonic() - sight.at
    return sight.isFirst ? { kind: 'Unsure', watchedMs: ms } : { kind: 'Heard', agoMs: ms }
  }
}

/** With a heartbeat every ten seconds plus jitter, two may be missed and the third may be late. */
export const SILENT_AFTER_MS = 40_000
/** After agent and node are both silent this long, the machine is Lost. */
export const LOST_AFTER_MS = 60_000

/** Five rounds of visits over SSH: a host that was missed once or twice is not silent. */
const ROUNDS_MS = 300_000

/** Of a machine that is heard once in each round, silence counts from the end of these rounds. */
export function heardInRounds(heartbeat: Heartbeat): Heartbeat {
  const later = (ms: number): number => Math.max(0, ms - ROUNDS_MS)
  if (heartbeat.kind === 'Heard') return { kind: 'Heard', agoMs: later(heartbeat.agoMs) }
  return heartbeat.kind === 'Unsure' ? { kind: 'Unsure', watchedMs: later(heartbeat.watchedMs) } : heartbeat
}

/** True: alive. False: silent for longer than the bound. Undefined: not known yet. */
export function isBeating(heartbeat: Heartbeat, boundMs = SILENT_AFTER_MS): boolean | undefined {
  switch (heartbeat.kind) {
    case 'None':
      return undefined
    case 'Unsure':
      return heartbeat.watchedMs >= boundMs ? false : undefined
    case 'Heard':
      return heartbeat.agoMs < boundMs
    default:
      return heartbeat satisfies never
  }
}

/** When to reconcile next to notice a silence in time. No event announces it. */
export function untilSilentMs(heartbeat: Heartbeat, boundMs: number): number | undefined {
  if (heartbeat.kind === 'None') return undefined
  const left = boundMs - (heartbeat.kind === 'Heard' ? heartbeat.agoMs : heartbeat.watchedMs)
  return left > 0 ? left : undefined
}
