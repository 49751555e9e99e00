// What a user may read of a cluster, and the cluster as that user sees it: objects of other kinds are missing, so no view can show them. Pure.
import type { TopicFamily } from '../protocol.ts'
import type { ClusterState } from './cluster-cache.ts'
import { TOPIC_NEEDS, WATCHED, WATCHED_KINDS, type Watched, type WatchedKind } from './watched-kinds.ts'

export interface Rights {
  readonly topics: ReadonlySet<TopicFamily>
  /** Kinds that the API server lets the user list there. */
  readonly kinds: ReadonlySet<WatchedKind>
  /** Whether the user sees why the cluster does not answer: the text contains addresses and the console's account. */
  readonly seesTrouble: boolean
  /**
   * The API server did not report the user's rights. Until it does, shows nothing; only the user with whose own rights the last state was read gets it, with
   * its age.
   */
  readonly isUnknown?: true
}

/** By cluster. A cluster without readable kinds is missing. */
export type Readable = ReadonlyMap<string, Rights>

export const mayReadTopic = (readable: Readable, cluster: string, family: TopicFamily): boolean =>
  readable.get(cluster)?.topics.has(family) === true

export function topicsOf(kinds: ReadonlySet<WatchedKind>): ReadonlySet<TopicFamily> {
  const own = Object.entries(TOPIC_NEEDS).flatMap(([family, needs]) =>
    needs.every((k) => kinds.has(k)) ? [family as keyof typeof TOPIC_NEEDS] : [],
  )
  return new Set<TopicFamily>(own.length === 0 ? [] : ['home', ...own])
}

/** The kinds behind this topic that the user may list. */
export const kindsShown = (family: TopicFamily, { kinds }: Rights): readonly WatchedKind[] =>
  WATCHED_KINDS.filter((kind) => kinds.has(kind) && WATCHED[kind].topics.includes(family))

const NO_ANSWER = 'the cluster does not answer, so what you may read there is unknown'

/** With topics, the last state is shown. */
export const noAnswer = (topics: ReadonlySet<TopicFamily>): string =>
  topics.size === 0 ? NO_ANSWER : 'the cluster does not answer'

export const troubleFor = ({ state, message }: ClusterState, rights: Rights): string | undefined =>
  rights.seesTrouble || state === 'Connected' ? message : NO_ANSWER

/** A live view: later reads return the cluster's state at that time. */
export function readAs(cluster: ClusterState, family: TopicFamily, rights: Rights): ClusterState {
  const shown = new Set(kindsShown(family, rights))
  return {
    name: cluster.name,
    get state() {
      return cluster.state
    },
    get message() {
      return troubleFor(cluster, rights)
    },
    get version() {
      return rights.topics.size === 0 ? undefined : cluster.version
    },
    readState: (kind) => (shown.has(kind) ? cluster.readState(kind) : 'Read'),
    list: <K extends WatchedKind>(kind: K): readonly Watched[K][] => (shown.has(kind) ? cluster.list(kind) : []),
    node: (name) => (shown.has('nodes') ? cluster.node(name) : undefined),
    machine: (name) => (shown.has('machines') ? cluster.machine(name) : undefined),
  }
}
