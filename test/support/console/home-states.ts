// What the first view of the console says in each state that a fleet may be in: its test holds the sentences, and the pictures of the documentation are drawn of them.
import type { TopicFamily } from '#console/protocol.ts'
import type { ReadState } from '#console/server/cluster-cache.ts'
import { topicsOf } from '#console/server/rights.ts'
import { type WatchedKind, WATCHED_KINDS } from '#console/server/watched-kinds.ts'
import type { ReadableCluster } from '#console/server/views/programs.ts'

export const HOME_AT = Date.parse('2026-01-05T02:03:10Z')

type Lists = Readonly<Partial<Record<WatchedKind, readonly object[]>>>

export interface Seen {
  readonly lists?: Lists
  /** Kinds that the reader may not list. */
  readonly without?: readonly WatchedKind[]
  readonly readState?: Readonly<Partial<Record<WatchedKind, ReadState>>>
}

export function clusterWith({ lists = {}, without = [], readState = {} }: Seen): ReadableCluster {
  const kinds = new Set(WATCHED_KINDS.filter((k) => !without.includes(k)))
  const state = {
    name: 'test',
    state: 'Connected',
    message: undefined,
    version: '1.36.2',
    list: (kind: WatchedKind) => (kinds.has(kind) ? (lists[kind] ?? []) : []),
    readState: (kind: WatchedKind) => readState[kind] ?? 'Read',
  }
  const topics: ReadonlySet<TopicFamily> = topicsOf(kinds)
  return { state, topics, kinds } as unknown as ReadableCluster
}

const ready = {
  metadata: { name: 'm-1' },
  node: '',
  since: 1,
  state: { phase: 'Ready', isReady: true, silent: 'No', isFrozen: false, reason: '' },
}
const sick = (type: string) => ({
  metadata: { name: 'm-1' },
  problems: [{ type, reason: 'Found', message: '', since: '2026-01-05T01:59:00Z' }],
  isCordoned: false,
})
const matching = [{ node: 'm-1', since: '2026-01-05T01:59:00Z', reason: 'CohortBlamed', waitingFor: '3 of 9 nodes' }]
const massFault = { metadata: { name: 'deadlock' }, spec: {}, status: { matching } }

export interface HomeState {
  readonly name: string
  readonly seen: Seen
  readonly sentence: string
  readonly weights: readonly string[]
}

export const HOME_STATES: readonly HomeState[] = [
  { name: 'well', seen: { lists: { machines: [ready] } }, sentence: 'Nothing needs attention.', weights: [] },
  {
    name: 'with a problem whose repair is refused',
    seen: { lists: { machines: [ready], nodes: [sick('KernelDeadlock')], rules: [massFault] } },
    sentence: '2 things need attention, the first: node m-1 not repaired by rule deadlock (mass fault) (test)',
    weights: ['Act', 'Act'],
  },
  {
    name: 'with incomplete detection',
    seen: { lists: { machines: [ready], nodes: [sick('DetectionIncomplete')] } },
    sentence: '1 thing needs attention: DetectionIncomplete on node m-1 (test)',
    weights: ['Act'],
  },
  {
    name: 'with a machine that a file on its host freezes',
    seen: { lists: { machines: [{ ...ready, state: { ...ready.state, isFrozen: true } }] } },
    sentence: '1 thing needs attention: machine m-1 is frozen (test)',
    weights: ['Act'],
  },
  {
    name: 'with a silent agent',
    seen: { lists: { machines: [{ ...ready, state: { ...ready.state, silent: 'Yes' } }] } },
    sentence: '1 thing needs attention: machine m-1 is silent (test)',
    weights: ['Act'],
  },
  {
    name: 'with a stale cache',
    seen: { lists: { machines: [ready] }, readState: { machines: 'Failed' } },
    sentence: 'Nothing known needs attention; 1 cluster known only in part.',
    weights: ['Unknown'],
  },
]
