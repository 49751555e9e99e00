// Components that run in the mind of their node only: started and stopped at once, crashed where the version is one that crashes.
import type { ProcessReading } from '../components/plan.ts'
import type { Processes, StartRequest } from '../supervise/port.ts'

export class NullProcesses implements Processes {
  readonly #crashes: (component: string, slot: string) => boolean
  readonly #readings = new Map<string, ProcessReading>()
  #listeners: readonly ((component: string) => void)[] = []

  constructor(crashes: (component: string, slot: string) => boolean) {
    this.#crashes = crashes
  }

  adopt(): Promise<void> {
    return Promise.resolve()
  }

  start({ component, slot }: StartRequest): Promise<void> {
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

  describe(): undefined {
    return undefined
  }

  brakeMs(): number {
    return 0
  }

  onChange(listener: (component: string) => void): void {
    this.#listeners = [...this.#listeners, listener]
  }

  /** It ends without anybody's wish. */
  crash(component: string): void {
    if (!this.#readings.has(component)) return
    this.#readings.set(component, 'Crashed')
    for (const tell of this.#listeners) tell(component)
  }

  close(): void {
    this.#listeners = []
  }
}
