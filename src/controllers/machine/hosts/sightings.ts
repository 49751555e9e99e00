// Decides whether a host that the provider does not show was deleted or is just invisible. Tracks which hosts were requested recently, which were
// observed during deletion, and since when each is missing, by our clock. One answer is never enough.
import type { Clock } from '#lib/clock.ts'
import type { Host, Provider } from '#providers/port.ts'

/** A single answer may be a mistake of the provider. An absence counts if it is still observed after this time. */
const CONFIRMED_AFTER_MS = 10_000

/** The id of a host, or any host that an attempt in doubt may have created. */
export const ANY_HOST = 'any'
type Missing = string

export class HostSightings {
  readonly #clock: Pick<Clock, 'monotonic'>
  /** A call may have been sent right before this process started. */
  readonly #begun: number
  readonly #asked = new Map<string, number>()
  readonly #deleting = new Map<string, string>()
  readonly #missing = new Map<string, { readonly missing: Missing; readonly since: number }>()

  constructor(clock: Pick<Clock, 'monotonic'>) {
    this.#clock = clock
    this.#begun = clock.monotonic()
  }

  /** A host is being requested, or was just now. Call the returned function if the provider reports that it created nothing. */
  asked(machineUid: string): () => void {
    const before = this.#asked.get(machineUid)
    this.#asked.set(machineUid, this.#clock.monotonic())
    return () => void (before === undefined ? this.#asked.delete(machineUid) : this.#asked.set(machineUid, before))
  }

  seen({ state, machineUid, providerID }: Pick<Host, 'state' | 'machineUid' | 'providerID'>): void {
    if (state === 'Deleting') return void this.#deleting.set(machineUid, providerID)
    this.#deleting.delete(machineUid)
    this.#missing.delete(machineUid)
  }

  /** The provider has accepted to end it. */
  ended(machineUid: string, providerID: string): void {
    this.#deleting.set(machineUid, providerID)
  }

  /** Milliseconds until an absent host is known not to exist; 0 if that is known now. Without `missing`, there may be no host at all. */
  untilSureMs(provider: Pick<Provider, 'capabilities'>, machineUid: string, missing: Missing | undefined): number {
    if (missing !== undefined && this.#deleting.get(machineUid) === missing) return 0
    const now = this.#clock.monotonic()
    const since = this.#asked.get(machineUid) ?? this.#begun
    const confirmedAt = missing === undefined ? now : this.#missingSince(machineUid, missing) + CONFIRMED_AFTER_MS
    return Math.max(0, since + provider.capabilities.visibleWithinMs - now, confirmedAt - now)
  }

  /** The longest possible wait. Statuses show this value: the remaining time changes with every reconcile and would be written each time. */
  sureWithinMs({ capabilities }: Pick<Provider, 'capabilities'>): number {
    return Math.max(capabilities.visibleWithinMs, CONFIRMED_AFTER_MS)
  }

  #missingSince(machineUid: string, missing: Missing): number {
    const known = this.#missing.get(machineUid)
    if (known?.missing === missing) return known.since
    const since = this.#clock.monotonic()
    this.#missing.set(machineUid, { missing, since })
    return since
  }

  /** The Machine was deleted. */
  forget(machineUid: string): void {
    this.#asked.delete(machineUid)
    this.#deleting.delete(machineUid)
    this.#missing.delete(machineUid)
  }
}
