// Runs one piece of work at a time per key, in order of arrival, even if earlier ones fail; other keys do not wait.
import { Semaphore, type SemaphoreOptions } from './semaphore.ts'

interface Held {
  readonly lock: Semaphore
  /** Running or waiting; the key is dropped with the last one. */
  users: number
}

export class KeyedLock {
  readonly #options: SemaphoreOptions
  readonly #held = new Map<string, Held>()

  constructor(options: SemaphoreOptions) {
    this.#options = options
  }

  /** Number of keys with work. */
  get size(): number {
    return this.#held.size
  }

  /** The signal ends the wait, not the work. */
  async run<T>(key: string, work: () => Promise<T>, signal?: AbortSignal): Promise<T> {
    const held = this.#held.get(key) ?? { lock: new Semaphore(1, this.#options), users: 0 }
    this.#held.set(key, held)
    held.users++
    try {
      return await held.lock.run(work, signal)
    } finally {
      held.users--
      if (held.users === 0) this.#held.delete(key)
    }
  }
}
