// Simulated component processes: they start and stop immediately, and crash if the version is one that crashes.
import type { ProcessReading } from '../components/seen.ts'
import type { Processes, StartRequest } from '../supervise/port.ts'
import type { ProcessEnd } from '../supervise/process-end.ts'

const ITS_OWN: ProcessEnd = { how: 'exited with code 1', isEvidence: true }

export class NullProcesses implements Processes {
  readonly #crashes: (component: string, slot: string) => boolean
  readonly #readings = new Map<string, ProcessReading>()
  readonly #ends = new Map<string, ProcessEnd>()
  #listeners: readonly ((component: string) => void)[] = []

  constructor(crashes: (component: string, slot: string) => boolean) {
    this.#crashes = crashes
  }

  adopt(): Promise<void> {
    return Promise.resolve()
  }

  start({ component, slot }: StartRequest): Promise<void> {
    this.#ends.delete(component)
    this.#readings.set(component, this.#crashes(component, slot) ? 'Crashed' : 'Running')
    return Promise.resolve()
  }

  stop(component: string): Promise<void> {
    this.#readings.delete(component)
    return Promise.resolve()
  }

  signal(): void {}

  reading(component: string): ProcessReading {
    return this.#readings.get(component) ?? 'Stopped'
  }

  end(component: string): ProcessEnd | undefined {
    return this.reading(component) === 'Crashed' ? (this.#ends.get(component) ?? ITS_OWN) : undefined
  }

  describe(): undefined {
    return undefined
  }

  brakeMs(): number {
    return 0
  }

  onChange(listener: (component: string) => void): void {
    this.#listeners = [...this.#listeners, listener]
  }

  /** The process exits: by a fault of its own, or killed from outside. */
  crash(component: string, end: ProcessEnd = ITS_OWN): void {
    if (!this.#readings.has(component)) return
    this.#ends.set(component, end)
    this.#readings.set(component, 'Crashed')
    for (const notify of this.#listeners) notify(component)
  }

  close(): void {
    this.#listeners = []
  }
}
