// The entrance: a request gets a seat, waits for its turn, or gets a 429. Watches are counted separately and hold no seat.
import type { Clock } from '#lib/clock.ts'
import { tooManyRequests, type Refusal } from '../status/refusal.ts'
import { FairQueue, type Seat } from './fair-queue.ts'
import type { Holder, Holdings } from './holdings.ts'
import type { Lane } from './lane.ts'
import type { FlowLevel, Rate } from './levels.ts'
import type { Limits } from './limits.ts'
import { Meter, type Leave } from './meter.ts'
import { Quota } from './quota.ts'
import { Turns } from './turns.ts'
import { Usage } from './usage.ts'
import { MIB } from '#lib/bytes.ts'

/** As on a real server. */
const RETRY_AFTER_SECONDS = 1
const comeBack = (): Refusal => tooManyRequests('Too many requests, please try again later.', RETRY_AFTER_SECONDS)

/** Cost of connection, headers and answer, which is not measured. */
const REQUEST_MS = 0.1
/** Cost of bytes read and sent: decrypted, copied, encrypted. */
const MS_PER_MIB = 4

/** A leader renews every two seconds, one Lease per program. Requests beyond it take the ordinary lane: that key was stolen. */
const LEADER_RATE: Rate = { perSecond: 10, burst: 30 }

/** Each event counts once for each started unit of this many bytes. */
const EVENT_BYTES = 2 * 1024

/** A client: its name, its limits, and the part of the server that is kept for it. */
export interface Client extends Holder {
  readonly level: FlowLevel
}

/** The bytes of one body: what has arrived, not what is declared. */
export interface HeldBody {
  /** Throws the refusal. */
  take(bytes: number): void
  end(): void
}

/** The one who reads an answer, and the bytes of it that it has not taken. */
export interface Reader {
  sent(bytes: number): void
  hold(bytes: number): void
  give(bytes: number): void
  /** It has left so much unread, of all its answers, that this one is to end. */
  isOver(): boolean
  /** Nothing of this answer is held any longer. */
  end(): void
}

export class Gate {
  readonly #lanes: Readonly<Record<Lane, FairQueue>>
  readonly #usage = new Usage()
  readonly #turns: Turns
  readonly #meter: Meter
  readonly #leaders: Quota
  readonly #passing: Quota
  readonly #holdings: Holdings

  constructor(limits: Limits, holdings: Holdings, clock: Pick<Clock, 'monotonic' | 'after'>) {
    const { seats, seatsPerFlow, vitalSeats, leaderSeats, longestWaitMs } = limits
    const now = () => clock.monotonic()
    this.#turns = new Turns({ now, next: () => this.#seatNext() })
    const lane = (bounds: Limits): FairQueue =>
      new FairQueue(bounds, {
        now,
        usage: this.#usage,
        onChange: () => this.#turns.go(),
        onSeat: (flow) => this.#work(flow),
      })
    // one client's share is the same as for the others
    const shared = (of: number): Limits => ({
      ...limits,
      seats: of,
      seatsPerFlow: Math.max(1, Math.floor((of * seatsPerFlow) / seats)),
    })
    this.#lanes = { leaders: lane(shared(leaderSeats)), vital: lane(shared(vitalSeats)), ordinary: lane(limits) }
    this.#meter = new Meter({ now, after: (ms, fn) => clock.after(ms, fn), longestWaitMs })
    this.#leaders = new Quota(now)
    this.#passing = new Quota(now)
    this.#holdings = holdings
  }

  /** Before anything of a request is read. Throws the refusal; call the returned function when the answer is on its way. */
  arrive({ name, level }: Pick<Client, 'name' | 'level'>, isGone: () => boolean): Leave | Promise<Leave> {
    const entered = this.#meter.enter(level, name, isGone)
    this.#meter.charge(name, REQUEST_MS)
    return entered instanceof Promise ? entered.then(orComeBack) : orComeBack(entered)
  }

  /** Throws the refusal. Synchronous when a seat is free and no request waits, so that the common case costs no turn of the loop. */
  enter(lane: Lane, client: Holder, isGone: () => boolean): Seat | Promise<Seat> {
    const { name: flow } = client
    // the answers of the other lanes are small, and their clients must not fail for what else they read
    if (lane === 'ordinary' && this.#holdings.isSpent('unreadBytes', client)) throw comeBack()
    const isFlood = lane === 'leaders' && this.#leaders.take(flow, LEADER_RATE, 1) > 0
    const queue = this.#lanes[isFlood ? 'vital' : lane]
    const isNext = this.#turns.isFree && this.#leastUsed() === undefined
    const seat = isNext ? queue.trySit(flow) : undefined
    if (seat === undefined) {
      this.#take('waiting', client, 1)
      return afterWaiting(queue, flow, isGone).finally(() => this.#holdings.give('waiting', client, 1))
    }
    this.#work(flow)
    return seat
  }

  /** Charges costs of a request that are not measured here. */
  charge(flow: string, ms: number): void {
    this.#usage.charge(flow, ms)
    this.#meter.charge(flow, ms)
  }

  /** Charges bytes that were read or are sent. */
  chargeBytes(flow: string, bytes: number): void {
    this.charge(flow, (bytes / MIB) * MS_PER_MIB)
  }

  /** Throws the refusal when a client creates more short-lived objects than its level allows; each kind is counted separately. */
  takePassing(
    what: 'events' | 'certificate requests',
    { name, level }: Pick<Client, 'name' | 'level'>,
    bytes: number,
  ): void {
    const seconds = this.#passing.take(`${what} ${name}`, level.events, Math.max(1, Math.ceil(bytes / EVENT_BYTES)))
    if (seconds > 0) throw tooManyRequests(`Too many ${what}, please try again later.`, seconds)
  }

  holdBody(client: Holder): HeldBody {
    let held = 0
    return {
      take: (bytes) => {
        this.#take('bodyBytes', client, bytes)
        held += bytes
      },
      end: () => {
        this.#holdings.give('bodyBytes', client, held)
        held = 0
      },
    }
  }

  readerOf(client: Holder): Reader {
    const holdings = this.#holdings
    let held = 0
    const give = (bytes: number): void => {
      const given = Math.min(bytes, held)
      held -= given
      if (given > 0) holdings.give('unreadBytes', client, given)
    }
    return {
      sent: (bytes) => this.chargeBytes(client.name, bytes),
      hold: (bytes) => {
        held += bytes
        holdings.add('unreadBytes', client, bytes)
      },
      give,
      isOver: () => holdings.isOver('unreadBytes', client),
      end: () => give(held),
    }
  }

  /** Counts one more watch; returns the function that ends it. */
  openWatch(client: Client): Seat {
    if (!this.#holdings.take('watches', client, 1, client.level.watches)) throw comeBack()
    let isOpen = true
    return () => {
      if (!isOpen) return
      isOpen = false
      this.#holdings.give('watches', client, 1)
    }
  }

  /** Throws the refusal. */
  #take(what: 'bodyBytes' | 'waiting', client: Holder, amount: number): void {
    if (!this.#holdings.take(what, client, amount)) throw comeBack()
  }

  /** The work of a request begins. */
  #work(flow: string): void {
    this.#usage.began(flow)
    this.#turns.begin((ms) => {
      this.#usage.charge(flow, ms + REQUEST_MS)
      this.#meter.charge(flow, ms)
    })
  }

  /** Leaders first, since their work is small and limited; then the client that has used least. */
  #seatNext(): boolean {
    const { leaders, vital, ordinary } = this.#lanes
    if (leaders.leastUsed !== undefined) return leaders.seatNext()
    const [first, second] =
      (ordinary.leastUsed ?? AFTER_ALL) < (vital.leastUsed ?? AFTER_ALL) ? [ordinary, vital] : [vital, ordinary]
    return first.seatNext() || second.seatNext()
  }

  #leastUsed(): number | undefined {
    const { leaders, vital, ordinary } = this.#lanes
    return leaders.leastUsed ?? vital.leastUsed ?? ordinary.leastUsed
  }
}

const AFTER_ALL = Number.POSITIVE_INFINITY

async function afterWaiting(queue: FairQueue, flow: string, isGone: () => boolean): Promise<Seat> {
  const seat = await queue.wait(flow, isGone)
  if (seat === undefined) throw comeBack()
  return seat
}

function orComeBack(leave: Leave | undefined): Leave {
  if (leave === undefined) throw comeBack()
  return leave
}
