// A provider's last events, numbered, for callers that poll: each gets what happened since its cursor. A cursor from another process, or one that is too old,
// continues from now: events are hints, and lists are complete.
import { randomUUID } from 'node:crypto'
import type { HostEvent } from '../port.ts'
import { MOST_EVENTS } from './protocol.ts'

/** Room for a restart of all hosts of a medium-sized cluster. */
const KEPT = 4_096

export interface EventsSince {
  readonly events: readonly HostEvent[]
  readonly next: string
}

export class EventLog {
  readonly #epoch = randomUUID().slice(0, 8)
  readonly #events: HostEvent[] = []
  readonly #waiting = new Set<() => void>()
  /** Number of the oldest kept event. */
  #first = 0

  add(event: HostEvent): void {
    this.#events.push(event)
    if (this.#events.length > KEPT) {
      this.#events.shift()
      this.#first++
    }
    for (const wake of this.#waiting) wake()
  }

  since(after: string | undefined): EventsSince {
    const end = this.#first + this.#events.length
    const [epoch, number] = (after ?? '').split('-')
    const asked = epoch === this.#epoch && /^\d{1,15}$/.test(number ?? '') ? Number(number) : end
    const from = Math.min(end, Math.max(this.#first, asked))
    const events = this.#events.slice(from - this.#first, from - this.#first + MOST_EVENTS)
    return { events, next: `${this.#epoch}-${from + events.length}` }
  }

  /** Resolves at the next event, or when the signal aborts. */
  async next(signal: AbortSignal): Promise<void> {
    if (signal.aborted) return
    await new Promise<void>((resolve) => {
      const wake = () => {
        this.#waiting.delete(wake)
        signal.removeEventListener('abort', wake)
        resolve()
      }
      this.#waiting.add(wake)
      signal.addEventListener('abort', wake, { once: true })
    })
  }
}
