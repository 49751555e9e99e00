// How much a client may take of the server, in one place: seats, queues, bytes, watches, times.
import { DEFAULT_LEVELS, type FlowLevel } from './levels.ts'

const MIB = 1024 * 1024

export interface Limits {
  /** Requests in progress. More than keeps the disk and the processor busy would only wait inside. */
  readonly seats: number
  /** For one client; less than all, so that slow requests of one (a webhook that hangs) leave seats for the others. */
  readonly seatsPerFlow: number
  /** Seats for heartbeats: leases and reports of nodes and machines. No other request takes them. */
  readonly vitalSeats: number
  /** Seats for leaders that renew their Leases: before all others. */
  readonly leaderSeats: number
  /** Requests of one client that wait for a seat. */
  readonly queuePerFlow: number
  /** Of all clients. */
  readonly queue: number
  /** A request that waited longer is refused: its client has given up or will soon. */
  readonly longestWaitMs: number
  /** Bodies that are being read, wait, or are in progress. */
  readonly bodyBytesPerFlow: number
  readonly bodyBytes: number
  /** Open watches of one client, and of all. */
  readonly watchesPerFlow: number
  readonly watches: number
  /** Connections. */
  readonly connections: number
  /** Until a TLS handshake is complete, the headers of a request have arrived, the whole request has arrived. */
  readonly handshakeMs: number
  readonly headMs: number
  readonly requestMs: number
  /** Between the requests of a connection; clients reuse them. */
  readonly idleMs: number
  /** How often these timeouts are checked. */
  readonly lookEveryMs: number
  readonly headBytes: number
  /** Limits by level; clients without a level have only the ones above. */
  readonly levels: readonly FlowLevel[]
}

export const DEFAULT_LIMITS: Limits = {
  seats: 96,
  seatsPerFlow: 64,
  vitalSeats: 96,
  leaderSeats: 16,
  queuePerFlow: 4_096,
  queue: 16_384,
  longestWaitMs: 30_000,
  bodyBytesPerFlow: 64 * MIB,
  bodyBytes: 128 * MIB,
  watchesPerFlow: 24_000,
  watches: 32_000,
  connections: 48_000,
  handshakeMs: 20_000,
  headMs: 20_000,
  requestMs: 60_000,
  idleMs: 120_000,
  lookEveryMs: 5_000,
  headBytes: 128 * 1024,
  levels: DEFAULT_LEVELS,
}
