// The listeners of a provider and the events they receive.
import type { HostEvent } from './port.ts'

export class HostEvents {
  readonly #scheme: string
  readonly #listeners = new Set<(event: HostEvent) => void>()

  constructor(scheme: string) {
    this.#scheme = scheme
  }

  /** Resolves when the signal aborts. */
  async listen(onEvent: (event: HostEvent) => void, signal: AbortSignal): Promise<void> {
    this.#listeners.add(onEvent)
    await new Promise((resolve) => signal.addEventListener('abort', resolve, { once: true }))
    this.#listeners.delete(onEvent)
  }

  emit(machine: string, kind: HostEvent['kind'], message: string): void {
    for (const onEvent of this.#listeners) onEvent({ providerID: this.#scheme + machine, machine, kind, message })
  }
}
