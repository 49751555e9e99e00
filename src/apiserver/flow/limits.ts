// How much a client may take of the server, in one place: seats, queues, bytes, watches, times.
import { DEFAULT_LEVELS, type FlowLevel } from './levels.ts'

const MIB = 1024 * 1024

export interface Limits {
  /** Requests that are worked on at once. Beyond what keeps the disk and the processor busy, more only wait inside. */
  readonly seats: number
  /** Of one client; less than all, so that slow requests of one (a webhook that hangs) leave seats for the others. */
  readonly seatsPerFlow: number
  /** Seats of what keeps nodes alive: leases and reports of nodes and machines. Nobody else sits on them. */
  readonly vitalSeats: number
  /** Seats of leaders that renew their Leases: they come before everybody else. */
  readonly leaderSeats: number
  /** Requests of one client that wait for a seat. */
  readonly queuePerFlow: number
  /** Of all clients. */
  readonly queue: number
  /** A request that waited longer is refused: its client has given up or will soon. */
  readonly longestWaitMs: number
  /** Bodies that are being read, wait, or are worked on. */
  readonly bodyBytesPerFlow: number
  readonly bodyBytes: number
  /** Open watches of one client, and of all. */
  readonly watchesPerFlow: number
  readonly watches: number
  /** Connections. */
  readonly connections: number
  /** Until a TLS handshake is done, the head of a request is there, the whole request is there. */
  readonly handshakeMs: number
  readonly headMs: number
  readonly requestMs: number
  /** Between the requests of a connection; clients reuse them. */
  readonly idleMs: number
  /** How often these times are looked at. */
  readonly lookEveryMs: number
  readonly headBytes: number
  /** What clients may take by who they are; whoever is not in it is bounded by the above alone. */
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
