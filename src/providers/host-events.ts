// The listeners of a provider and the events they receive.
import type { HostEvent } from './port.ts'

export class HostEvents {
  readonly #scheme: string
  readonly #listeners = new Set<(event: HostEvent) => void>()

  constructor(scheme: string) {
    this.#scheme = scheme
  }

  /** Until the signal aborts. */
  async listen(heard: (event: HostEvent) => void, signal: AbortSignal): Promise<void> {
    this.#listeners.add(heard)
    await new Promise((resolve) => signal.addEventListener('abort', resolve, { once: true }))
    this.#listeners.delete(heard)
  }

  tell(machine: string, kind: HostEvent['kind'], message: string): void {
    for (const heard of this.#listeners) heard({ providerID: this.#scheme + machine, machine, kind, message })
  }
}
