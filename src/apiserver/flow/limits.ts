// How much a client may take of the server, in one place: seats, queues, bytes, watches, times.
import type { Bounds } from './holdings.ts'
import { DEFAULT_LEVELS, type FlowLevel } from './levels.ts'
import { MIB } from '#lib/bytes.ts'

/** Parts for nodes. Their heartbeats are small and short; but each of ten thousand has connections and watches all the time. */
const FEW = 1 / 16
const HALF = 1 / 2

export interface Limits {
  /** Requests in progress. More than keeps the disk and the processor busy would only wait inside. */
  readonly seats: number
  /** For one client; less than all, so that slow requests of one (a webhook that hangs) leave seats for the others. */
  readonly seatsPerFlow: number
  /** Seats for heartbeats: leases and reports of nodes and machines. No other request takes them. */
  readonly vitalSeats: number
  /** Seats for leaders that renew their Leases: before all others. */
  readonly leaderSeats: number
  /** A request that waited longer is refused: its client has given up or will soon. */
  readonly longestWaitMs: number
  /**
   * What clients hold, of all and of one identity: bytes that arrived of bodies that are read, wait, or are in progress; bytes of
   * answers that are not read; open watches; connections; requests that wait for a seat.
   */
  readonly held: Bounds
  /** Until a TLS handshake is complete, the headers of a request have arrived, the whole request has arrived. */
  readonly handshakeMs: number
  readonly headMs: number
  readonly requestMs: number
  /** A body of which less than so much arrives in this time is given up. */
  readonly bodyWindowMs: number
  readonly bodyWindowBytes: number
  /** Between the requests of a connection; clients reuse them. */
  readonly idleMs: number
  /** How often these timeouts are checked. */
  readonly lookEveryMs: number
  readonly headBytes: number
  /** Limits by level; clients without a level have only the ones above. */
  readonly levels: readonly FlowLevel[]
}

/** With another number of connections, which depends on the descriptors of the process. */
export const withConnections = (held: Bounds, all: number): Bounds => ({
  ...held,
  connections: { ...held.connections, all },
})

export const DEFAULT_LIMITS: Limits = {
  seats: 96,
  seatsPerFlow: 64,
  vitalSeats: 96,
  leaderSeats: 16,
  longestWaitMs: 30_000,
  held: {
    bodyBytes: {
      all: 128 * MIB,
      forNodes: FEW,
      each: { leaders: 12 * MIB, nodes: 4 * MIB, administrators: 64 * MIB, others: 4 * MIB },
    },
    unreadBytes: {
      all: 256 * MIB,
      forNodes: FEW,
      each: { leaders: 32 * MIB, nodes: 8 * MIB, administrators: 64 * MIB, others: 8 * MIB },
    },
    // administrators: a benchmark, or a tool of a fleet, watches as thousands of clients do
    watches: { all: 32_000, forNodes: HALF, each: { leaders: 1_000, nodes: 400, administrators: 24_000, others: 400 } },
    connections: {
      all: 48_000,
      forNodes: HALF,
      each: { leaders: 1_000, nodes: 200, administrators: 36_000, others: 600 },
    },
    waiting: { all: 16_384, forNodes: FEW, each: { leaders: 1_024, nodes: 256, administrators: 4_096, others: 512 } },
  },
  handshakeMs: 20_000,
  headMs: 20_000,
  requestMs: 60_000,
  bodyWindowMs: 5_000,
  bodyWindowBytes: 16 * 1024,
  idleMs: 120_000,
  lookEveryMs: 5_000,
  headBytes: 128 * 1024,
  levels: DEFAULT_LEVELS,
}
