// Which programs of a cluster are unavailable, and which parts of a cluster the reader cannot see: a gap is never shown as healthy. Pure.
import { gapText } from '#explain/attention/cluster-findings.ts'
import { KINDS_IN_WORDS } from '#explain/attention/kinds-in-words.ts'
import type { ObservedCluster, ObservedKinds } from '#explain/attention/observed.ts'
import type { Program } from '#explain/programs.ts'
import type { TopicFamily } from '../../protocol.ts'
import type { ClusterState, ReadState } from '../cluster-cache.ts'
import type { ProgramState } from '../program-state.ts'
import { noAnswer } from '../rights.ts'
import { WATCHED, WATCHED_KINDS, type WatchedKind } from '../watched-kinds.ts'

/** A cluster with the reader's rights. */
export interface ReadableCluster {
  readonly state: ClusterState
  readonly topics: ReadonlySet<TopicFamily>
  readonly kinds: ReadonlySet<WatchedKind>
  /** The reader's rights are unknown. */
  readonly isUnknown?: true
}

/** Objects that need a program. Without any of them a cluster need not have it. */
const WORK: Readonly<Record<Program, readonly WatchedKind[]>> = {
  sync: ['sources'],
  controllers: ['machines', 'sets', 'rules'],
  defender: ['machines', 'sets', 'policies'],
  approver: ['machines'],
  cluster: ['clusters'],
}

export const awayPrograms = (cluster: ReadableCluster): readonly ProgramState[] =>
  cluster.kinds.has('programs')
    ? cluster.state.list('programs').filter((look) => look.state === 'Away' && isMissed(cluster, look))
    : []

/** A Lease that its holder does not renew is always a failure. A released or missing one is a failure if there is work. */
function isMissed({ state, kinds }: ReadableCluster, { program, how }: ProgramState): boolean {
  if (how === 'Stopped') return true
  const work = program === 'cluster' ? state.list('clusters').filter(({ spec }) => spec.controlPlane !== undefined) : []
  const has = WORK[program].some((kind) => (kind === 'clusters' ? work : state.list(kind)).length > 0)
  // Machines may join elsewhere: an installation without an approver is complete.
  if (how === 'Absent') return has && program !== 'approver'
  return has || WORK[program].some((kind) => !kinds.has(kind))
}

/** Each part of the picture that depends on a right, under its common name. */
const PARTS: readonly (readonly [name: string, topic: TopicFamily | undefined, ...kinds: readonly WatchedKind[]])[] = [
  ['releases', 'pipeline'],
  ['commits', 'commits'],
  ['rollouts', 'sets', 'canaries'],
  ['budgets', 'budgets'],
  ['repairs', 'repairs', 'rules'],
  ['machines', 'machines', 'machineSets'],
  ['nodes', undefined, 'nodes'],
  ['holds', undefined, 'holds'],
  ['maintenance', 'maintenance'],
  [KINDS_IN_WORDS.programs, undefined, 'programs'],
]

/** The unknown parts of a cluster that answers; undefined if there are none. */
function gapOf({ state, topics, kinds, isUnknown }: ReadableCluster): string | undefined {
  if (state.state !== 'Connected') return undefined
  if (isUnknown === true) return `cluster/${state.name}: ${noAnswer(topics)}`
  const hidden = PARTS.flatMap(([name, topic, ...needs]) =>
    (topic === undefined || topics.has(topic)) && needs.every((kind) => kinds.has(kind)) ? [] : [name],
  )
  const inState = (wanted: ReadState): readonly string[] =>
    shownAtHome(kinds)
      .filter((kind) => state.readState(kind) === wanted)
      .map((kind) => KINDS_IN_WORDS[kind])
  return gapText(state.name, { hidden, failing: inState('Failed'), unrecorded: inState('NotRecorded') })
}

/** Something the reader may see has not been read for the first time. */
export const isLoading = ({ state, kinds }: ReadableCluster): boolean =>
  state.state === 'Loading' ||
  (state.state === 'Connected' && shownAtHome(kinds).some((kind) => state.readState(kind) === 'Loading'))

const shownAtHome = (kinds: ReadonlySet<WatchedKind>): readonly WatchedKind[] =>
  WATCHED_KINDS.filter((kind) => kinds.has(kind) && WATCHED[kind].topics.includes('home'))

/** The cluster as the attention model's input. */
export const observed = (cluster: ReadableCluster): ObservedCluster => ({
  name: cluster.state.name,
  state: cluster.state.state,
  message: cluster.state.message,
  list: <K extends keyof ObservedKinds>(kind: K) => cluster.state.list(kind) as readonly ObservedKinds[K][],
  stopped: awayPrograms(cluster).map(({ program, since }) => ({ program, since })),
  gap: gapOf(cluster),
})
