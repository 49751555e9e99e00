// Limits for clients, by their user and groups: one table, the first matching line counts.
import type { RequestUser } from '../builtin/kind.ts'
import { KIB, MIB } from '#lib/bytes.ts'

const UNBOUNDED = Number.POSITIVE_INFINITY

export interface Rate {
  readonly perSecond: number
  readonly burst: number
}

export interface FlowLevel {
  readonly name: string
  /** Members of any of these groups belong to this level. */
  readonly groups: readonly string[]
  /** Of one request: its size, its size where it is YAML (a hundred times the work), its fields and list items. */
  readonly bodyBytes: number
  readonly yamlBytes: number
  readonly bodyNodes: number
  /** Size of an object after a write. Small writes could add up to one that takes long to read and write. */
  readonly objectBytes: number
  /** Share of one processor, 1 is no limit: a client beyond it waits, and is not read from, until its share has caught up. */
  readonly share: number
  /** How far it may run ahead. */
  readonly burstMs: number
  /** Requests of one client from the first to the last byte; watches only until they are open. Further ones wait. */
  readonly atOnce: number
  readonly waiting: number
  readonly watches: number
  readonly connections: number
  /** Requests sent on one connection before the first is answered. No client of Kubernetes sends a second. */
  readonly pipelined: number
  /** Events and, separately, new certificate requests, each counted once for every 2 KiB: they are kept for an hour, or for a day. */
  readonly events: Rate
}

const FREE: FlowLevel = {
  name: 'administrators',
  groups: ['system:masters'],
  bodyBytes: 3 * MIB,
  yamlBytes: MIB,
  // an object of 1.5 MiB has some 60,000; a real server has no such bound
  bodyNodes: 100_000,
  objectBytes: 1.5 * MIB,
  share: 1,
  burstMs: UNBOUNDED,
  atOnce: UNBOUNDED,
  waiting: UNBOUNDED,
  watches: 24_000,
  connections: UNBOUNDED,
  pipelined: UNBOUNDED,
  events: { perSecond: UNBOUNDED, burst: UNBOUNDED },
}

/**
 * Keys on many hosts are stolen first. An agent reports on one Machine with at most 64 components and 16 jobs, and its
 * Node: a request every few seconds, of a few KiB and milliseconds.
 */
const AGENTS: FlowLevel = {
  ...FREE,
  name: 'agents',
  groups: ['kubenode:agents', 'system:bootstrappers'],
  bodyBytes: 64 * KIB,
  yamlBytes: 4 * KIB,
  bodyNodes: 8_192,
  objectBytes: 256 * KIB,
  share: 0.1,
  burstMs: 200,
  atOnce: 4,
  waiting: 256,
  watches: 48,
  connections: 64,
  pipelined: 4,
  events: { perSecond: 1, burst: 100 },
}

/** They count as one client: load balancers are among them, so their connections are not counted. */
const STRANGERS: FlowLevel = {
  ...AGENTS,
  name: 'anonymous',
  groups: ['system:unauthenticated'],
  connections: UNBOUNDED,
  waiting: 1_024,
}

const OTHERS: FlowLevel = {
  ...FREE,
  name: 'others',
  groups: [],
  yamlBytes: 256 * KIB,
  // a controller that reports a whole fleet
  events: { perSecond: 200, burst: 10_000 },
}

export const DEFAULT_LEVELS: readonly FlowLevel[] = [FREE, AGENTS, STRANGERS]

/** Other groups do not limit a member of `system:masters`. */
export const levelOf = (levels: readonly FlowLevel[], { groups }: Pick<RequestUser, 'groups'>): FlowLevel =>
  levels.find((l) => l.groups.some((g) => groups.includes(g))) ?? OTHERS
