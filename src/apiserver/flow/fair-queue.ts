// Seats for requests, assigned to the client that has used least: a flood of one client lengthens only its own queue.
// Invariants: at most `seats` are taken, at most `seatsPerFlow` by one flow; within a flow first come, first served.
import { Heap } from './heap.ts'
import type { Usage } from './usage.ts'

export interface QueueBounds {
  readonly seats: number
  readonly seatsPerFlow: number
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
  /** Requests before this index have left the queue; compacted now and then. */
  next: number
  /** In the heap of flows that can be seated. */
  isReady: boolean
}

export interface QueueTools {
  /** Monotonic. */
  readonly now: () => number
  readonly usage: Usage
  /** A seat is free, or a new request waits. */
  readonly onChange: () => void
  /** A waiting request is about to be seated. */
  readonly onSeat: (flow: string) => void
}

export class FairQueue {
  readonly #bounds: QueueBounds
  readonly #tools: QueueTools
  readonly #flows = new Map<string, Flow>()
  /** Flows with a waiting request and a seat left for them, by usage. */
  readonly #ready = new Heap<Flow>()
  #seated = 0
  #waiting = 0

  constructor(bounds: QueueBounds, tools: QueueTools) {
    this.#bounds = bounds
    this.#tools = tools
  }

  get seated(): number {
    return this.#seated
  }
  get waiting(): number {
    return this.#waiting
  }
  /** The usage of the next flow to be seated; undefined when none can be. */
  get leastUsed(): number | undefined {
    return this.#seated < this.#bounds.seats ? this.#ready.leastKey : undefined
  }

  /** A seat at once when one is free and no request of the same flow waits; undefined otherwise. */
  trySit(name: string): Seat | undefined {
    const flow = this.#flow(name)
    if (flow.waiting.length > flow.next || !this.#hasSeat(flow)) return undefined
    return this.#sit(flow)
  }

  /** Undefined when the wait was too long; how many may wait is for the caller to say. A client that has disconnected gets no seat and no answer. */
  wait(name: string, isGone: () => boolean): Promise<Seat | undefined> {
    const flow = this.#flow(name)
    this.#waiting++
    return new Promise((seated) => {
      flow.waiting.push({ since: this.#tools.now(), isGone, seated })
      this.#makeReady(flow)
      this.#tools.onChange()
    })
  }

  /** Assigns one free seat to the flow that has used least. False: no seat, or no waiting request. */
  seatNext(): boolean {
    while (this.#seated < this.#bounds.seats) {
      const flow = this.#ready.take()
      if (flow === undefined) return false
      flow.isReady = false
      const { usage, now, onSeat } = this.#tools
      // its usage changed while it waited
      if (usage.standing(flow.name) > (this.#ready.leastKey ?? Number.POSITIVE_INFINITY)) {
        this.#makeReady(flow)
        continue
      }
      const first = this.#take(flow)
      if (first === undefined) this.#forget(flow)
      else if (now() - first.since > this.#bounds.longestWaitMs) {
        this.#makeReady(flow)
        first.seated(undefined)
      } else {
        onSeat(flow.name)
        const seat = this.#sit(flow)
        this.#makeReady(flow)
        first.seated(seat)
        return true
      }
    }
    return false
  }

  #flow(name: string): Flow {
    let flow = this.#flows.get(name)
    if (flow === undefined) {
      flow = { name, seated: 0, waiting: [], next: 0, isReady: false }
      this.#flows.set(name, flow)
    }
    return flow
  }

  #forget(flow: Flow): void {
    if (flow.seated === 0 && flow.waiting.length === 0) this.#flows.delete(flow.name)
  }

  #hasSeat = (flow: Flow): boolean => this.#seated < this.#bounds.seats && flow.seated < this.#bounds.seatsPerFlow

  #makeReady(flow: Flow): void {
    if (flow.isReady || flow.waiting.length <= flow.next || flow.seated >= this.#bounds.seatsPerFlow) return
    flow.isReady = true
    this.#ready.add(this.#tools.usage.standing(flow.name), flow)
  }

  #sit(flow: Flow): Seat {
    this.#seated++
    flow.seated++
    let isTaken = true
    return () => {
      if (!isTaken) return
      isTaken = false
      this.#seated--
      flow.seated--
      this.#makeReady(flow)
      this.#tools.onChange()
      this.#forget(flow)
    }
  }

  /** The first request that still waits. */
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
