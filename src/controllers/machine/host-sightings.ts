// Whether a host that the provider does not show was deleted, or is only not shown yet: which hosts were requested lately, and which were observed while being deleted, by our clock.
import type { Clock } from '#lib/clock.ts'
import type { Host, Provider } from '#providers/port.ts'

export class HostSightings {
  readonly #clock: Pick<Clock, 'monotonic'>
  /** A call may have been made right before this process began. */
  readonly #begun: number
  readonly #asked = new Map<string, number>()
  readonly #deleting = new Map<string, string>()

  constructor(clock: Pick<Clock, 'monotonic'>) {
    this.#clock = clock
    this.#begun = clock.monotonic()
  }

  /** A host is asked for, or was a moment ago. The answer takes it back: the provider said that nothing was made. */
  asked(machineUid: string): () => void {
    const before = this.#asked.get(machineUid)
    this.#asked.set(machineUid, this.#clock.monotonic())
    return () => void (before === undefined ? this.#asked.delete(machineUid) : this.#asked.set(machineUid, before))
  }

  seen({ state, machineUid, providerID }: Host): void {
    if (state === 'Deleting') this.#deleting.set(machineUid, providerID)
  }

  /** Milliseconds until an absent host is known not to exist; 0 when it is known now. Without an id, any host of the machine is meant. */
  untilSureMs(provider: Pick<Provider, 'capabilities'>, machineUid: string, providerID: string | undefined): number {
    if (providerID !== undefined && this.#deleting.get(machineUid) === providerID) return 0
    const since = this.#asked.get(machineUid) ?? this.#begun
    return Math.max(0, since + provider.capabilities.visibleWithinMs - this.#clock.monotonic())
  }

  /** The Machine was deleted. */
  forget(machineUid: string): void {
    this.#asked.delete(machineUid)
    this.#deleting.delete(machineUid)
  }
}
