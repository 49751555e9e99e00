// Seats for requests, given in turn to the clients that wait: a flood of one lengthens its own queue and nobody else's.
// Invariants: at most `seats` are taken, at most `seatsPerFlow` by one flow; within a flow first come, first served.

export interface QueueBounds {
  readonly seats: number
  readonly seatsPerFlow: number
  readonly queuePerFlow: number
  readonly queue: number
  readonly longestWaitMs: number
}

export type Seat = () => void

interface Waiting {
  readonly since: number
  readonly isGone: () => boolean
  readonly seated: (seat: Seat | undefined) => void
}

interface Flow {
  readonly name: string
  seated: number
  waiting: Waiting[]
  /** Those before it have left the queue; moved up in one go, now and then. */
  next: number
}

export class FairQueue {
  readonly #bounds: QueueBounds
  readonly #now: () => number
  readonly #flows = new Map<string, Flow>()
  /** Flows with somebody waiting, in the order of their turns. */
  readonly #turns = new Set<Flow>()
  #seated = 0
  #waiting = 0

  /** `now` is monotonic. */
  constructor(bounds: QueueBounds, now: () => number) {
    this.#bounds = bounds
    this.#now = now
  }

  get seated(): number {
    return this.#seated
  }
  get waiting(): number {
    return this.#waiting
  }

  /** A seat at once when one is free and nobody of the same flow waits; undefined otherwise. */
  trySit(name: string): Seat | undefined {
    const flow = this.#flow(name)
    if (flow.waiting.length > flow.next || !this.#hasSeat(flow)) return undefined
    return this.#sit(flow)
  }

  /** Undefined when the queue is full, or when the turn came too late. A client that is gone gets no seat and no answer. */
  wait(name: string, isGone: () => boolean): Promise<Seat | undefined> {
    const flow = this.#flow(name)
    const length = flow.waiting.length - flow.next
    if (length >= this.#bounds.queuePerFlow || this.#waiting >= this.#bounds.queue) {
      this.#forget(flow)
      return Promise.resolve(undefined)
    }
    this.#waiting++
    this.#turns.add(flow)
    return new Promise((seated) => {
      flow.waiting.push({ since: this.#now(), isGone, seated })
    })
  }

  #flow(name: string): Flow {
    let flow = this.#flows.get(name)
    if (flow === undefined) {
      flow = { name, seated: 0, waiting: [], next: 0 }
      this.#flows.set(name, flow)
    }
    return flow
  }

  #forget(flow: Flow): void {
    if (flow.seated === 0 && flow.waiting.length === 0) this.#flows.delete(flow.name)
  }

  #hasSeat = (flow: Flow): boolean => this.#seated < this.#bounds.seats && flow.seated < this.#bounds.seatsPerFlow

  #sit(flow: Flow): Seat {
    this.#seated++
    flow.seated++
    let isTaken = true
    return () => {
      if (!isTaken) return
      isTaken = false
      this.#seated--
      flow.seated--
      this.#fill()
      this.#forget(flow)
    }
  }

  /** Gives free seats away: one flow after the other, one seat each time. */
  #fill(): void {
    while (this.#seated < this.#bounds.seats) {
      const flow = this.#nextFlow()
      if (flow === undefined) return
      const first = this.#take(flow)
      // its next turn comes after everybody else's
      this.#turns.delete(flow)
      if (flow.waiting.length > 0) this.#turns.add(flow)
      if (first === undefined) continue
      const isLate = this.#now() - first.since > this.#bounds.longestWaitMs
      first.seated(isLate ? undefined : this.#sit(flow))
    }
  }

  #nextFlow(): Flow | undefined {
    for (const flow of this.#turns) if (flow.seated < this.#bounds.seatsPerFlow) return flow
    return undefined
  }

  /** The first that is still there. */
  #take(flow: Flow): Waiting | undefined {
    let found: Waiting | undefined
    while (found === undefined && flow.next < flow.waiting.length) {
      const first = flow.waiting[flow.next++]
      this.#waiting--
      if (first === undefined || !first.isGone()) found = first
      else first.seated(undefined)
    }
    if (flow.next >= flow.waiting.length) {
      flow.waiting = []
      flow.next = 0
    } else if (flow.next > 256 && flow.next * 2 > flow.waiting.length) {
      flow.waiting = flow.waiting.slice(flow.next)
      flow.next = 0
    }
    return found
  }
}
