// The way in: a request gets a seat, waits for its turn, or is told to come back. Watches are counted apart and hold no seat.
import { tooManyRequests, type Refusal } from '../status/refusal.ts'
import { FairQueue, type Seat } from './fair-queue.ts'
import type { Lane } from './lane.ts'
import type { Limits } from './limits.ts'
import { Shares } from './shares.ts'

/** As the real server says it. */
const RETRY_AFTER_SECONDS = 1
const comeBack = (): Refusal => tooManyRequests('Too many requests, please try again later.', RETRY_AFTER_SECONDS)

export class Gate {
  readonly #lanes: Readonly<Record<Lane, FairQueue>>
  readonly #bodies: Shares
  readonly #watches: Shares

  /** `now` is monotonic. */
  constructor(limits: Limits, now: () => number) {
    const { seats, seatsPerFlow, vitalSeats } = limits
    this.#lanes = {
      ordinary: new FairQueue(limits, now),
      // the same share of them for one client as of the others
      vital: new FairQueue(
        { ...limits, seats: vitalSeats, seatsPerFlow: Math.max(1, Math.floor((vitalSeats * seatsPerFlow) / seats)) },
        now,
      ),
    }
    this.#bodies = new Shares(limits.bodyBytesPerFlow, limits.bodyBytes)
    this.#watches = new Shares(limits.watchesPerFlow, limits.watches)
  }

  /** Throws the refusal. Synchronous when a seat is free, so that the common case costs no turn of the loop. */
  enter(lane: Lane, flow: string, isGone: () => boolean): Seat | Promise<Seat> {
    return this.#lanes[lane].trySit(flow) ?? this.#afterWaiting(lane, flow, isGone)
  }

  async #afterWaiting(lane: Lane, flow: string, isGone: () => boolean): Promise<Seat> {
    const seat = await this.#lanes[lane].wait(flow, isGone)
    if (seat === undefined) throw comeBack()
    return seat
  }

  /** Bytes of a body that is about to come; throws the refusal. */
  takeBody(flow: string, bytes: number): void {
    if (!this.#bodies.take(flow, bytes)) throw comeBack()
  }

  giveBody(flow: string, bytes: number): void {
    this.#bodies.give(flow, bytes)
  }

  /** One more watch; returns the way to end it. */
  openWatch(flow: string): Seat {
    if (!this.#watches.take(flow, 1)) throw comeBack()
    let isOpen = true
    return () => {
      if (!isOpen) return
      isOpen = false
      this.#watches.give(flow, 1)
    }
  }
}
