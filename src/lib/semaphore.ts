// Limits concurrent work; the rest waits in order of arrival, up to a limit, and may give up. Not p-limit: its queue has no limit, and waiting work cannot give
// up.
import { KubeNodeError } from './errors.ts'
import { libErrors } from './lib-errors.ts'

export interface SemaphoreOptions {
  /** What is waiting, for the error: "renders", "requests". */
  readonly what: string
  /** How many may wait before the next one is refused. */
  readonly mostWaiting?: number
  /** Error to use instead of KN1044 when the queue is full. */
  readonly full?: () => Error
}

/** Far more than one process works on: at this point, callers do not wait for what they start. */
const MOST_WAITING = 10_000

export class Semaphore {
  #free: number
  readonly #options: SemaphoreOptions
  /** A set keeps insertion order and makes giving up in a long queue cheap. */
  readonly #waiting = new Set<() => void>()

  constructor(atOnce: number, options: SemaphoreOptions) {
    this.#free = atOnce
    this.#options = options
  }

  /** Runs when its turn comes; an error does not stop the next one. The signal ends the wait, not the work. */
  async run<T>(work: () => Promise<T>, signal?: AbortSignal): Promise<T> {
    const release = await this.acquire(signal)
    try {
      return await work()
    } finally {
      release()
    }
  }

  /** Waits for a turn; call the returned function to release it. Calling it twice is harmless. */
  async acquire(signal?: AbortSignal): Promise<() => void> {
    signal?.throwIfAborted()
    if (this.#free > 0) this.#free--
    else await this.#wait(signal)
    let isHeld = true
    return () => {
      if (isHeld) this.#release()
      isHeld = false
    }
  }

  #release(): void {
    const [next] = this.#waiting
    if (next === undefined) {
      this.#free++
      return
    }
    this.#waiting.delete(next)
    next()
  }

  #wait(signal: AbortSignal | undefined): Promise<void> {
    const { what, mostWaiting = MOST_WAITING, full } = this.#options
    if (this.#waiting.size >= mostWaiting)
      throw full?.() ?? new KubeNodeError(libErrors.KN1044({ what, most: mostWaiting }), { retry: 'later' })
    return new Promise((resolve, reject) => {
      const begin = () => {
        signal?.removeEventListener('abort', giveUp)
        resolve()
      }
      const giveUp = () => {
        this.#waiting.delete(begin)
        reject(signal?.reason)
      }
      this.#waiting.add(begin)
      signal?.addEventListener('abort', giveUp, { once: true })
    })
  }
}
