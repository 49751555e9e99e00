// Which topics exist, what each is computed from, and who may read it. Pure.
import { assertNever } from '#lib/errors.ts'
import type { Snapshot, Topic, TopicFamily } from '../protocol.ts'
import type { ClusterRow } from '../topics.ts'
import { topicOf } from '../topic-name.ts'
import type { ClusterState } from './cluster-cache.ts'
import { budgetRows, budgetsHead } from './views/budgets.ts'
import { clusterRows } from './views/clusters.ts'
import { attentionByCluster, homeOf } from './views/home.ts'
import type { ReadableCluster } from './views/programs.ts'
import { commitRows, pipelineRows } from './views/pipeline.ts'
import { maintenanceRows, repairRows } from './views/repairs.ts'
import { setHead, setParts, setRows } from './views/sets.ts'
import { kindsShown, mayReadTopic, noAnswer, readAs, type Readable } from './rights.ts'

const OF_FLEET = ['home', 'pipeline', 'clusters', 'commits'] as const
const OF_CLUSTER = ['machines', 'sets', 'budgets', 'repairs', 'maintenance'] as const
const OF_OBJECT = ['set', 'node'] as const

export type TopicName =
  | { readonly of: 'Fleet'; readonly family: (typeof OF_FLEET)[number] }
  | { readonly of: 'Cluster'; readonly family: (typeof OF_CLUSTER)[number]; readonly cluster: string }
  | {
      readonly of: 'Object'
      readonly family: (typeof OF_OBJECT)[number]
      readonly cluster: string
      readonly name: string
    }

/** Two object names of maximum length, and some words. */
const MOST_CHARACTERS = 600

/** Undefined for an unknown topic. A non-canonical spelling is refused too, since each would be computed and remembered separately. */
export function parseTopic(topic: Topic): TopicName | undefined {
  if (topic.length > MOST_CHARACTERS) return undefined
  const name = topicNameOf(topic)
  if (name === undefined) return undefined
  const names = [...('cluster' in name ? [name.cluster] : []), ...('name' in name ? [name.name] : [])]
  return topicOf(name.family, ...names) === topic ? name : undefined
}

function topicNameOf(topic: Topic): TopicName | undefined {
  const [family = '', first, second, ...rest] = topic.split('/').map(decoded)
  if (rest.length > 0) return undefined
  const fleet = OF_FLEET.find((f) => f === family)
  if (fleet !== undefined) return first === undefined ? { of: 'Fleet', family: fleet } : undefined
  if (first === undefined || first === '') return undefined
  const ofCluster = OF_CLUSTER.find((f) => f === family)
  if (ofCluster !== undefined)
    return second === undefined ? { of: 'Cluster', family: ofCluster, cluster: first } : undefined
  const ofObject = OF_OBJECT.find((f) => f === family)
  if (ofObject === undefined || second === undefined || second === '') return undefined
  return { of: 'Object', family: ofObject, cluster: first, name: second }
}

function decoded(part: string): string {
  try {
    return decodeURIComponent(part)
  } catch {
    return ''
  }
}

/** For a topic of one cluster: whether this user may read it. Fleet topics show each user what they may read. */
export const mayRead = (topic: TopicName, readable: Readable): boolean =>
  topic.of === 'Fleet' || mayReadTopic(readable, topic.cluster, topic.family)

/** Users who may list the same kinds behind a topic share it; others do not. */
export function audienceOf(topic: TopicName, readable: Readable): string {
  const { family } = topic
  if (topic.of !== 'Fleet') {
    const rights = readable.get(topic.cluster)
    return rights === undefined ? '' : kindsShown(family, rights).join()
  }
  const wanted = [...readable]
    .filter(([, { topics }]) => isOfAllClusters(family) || topics.has(family))
    .map(([cluster, rights]) => [
      cluster,
      ...(isOfAllClusters(family) && rights.seesTrouble ? ['trouble'] : []),
      ...(isOfAllClusters(family) && rights.isUnknown === true ? ['unknown'] : []),
      ...kindsShown(family, rights),
    ])
  return JSON.stringify(wanted.toSorted(([a = ''], [b = '']) => (a < b ? -1 : 1)))
}

/** They show every cluster with something readable. */
const isOfAllClusters = (family: TopicFamily): boolean => family === 'home' || family === 'clusters'

/** The cache may not have noticed yet that an API server stopped answering. */
const seenIn =
  (clusters: readonly ReadableCluster[]) =>
  (row: ClusterRow): ClusterRow => {
    const of = clusters.find(({ state }) => state.name === row.name)
    if (of?.isUnknown !== true || row.state !== 'Connected') return row
    return { ...row, state: 'Unreachable', message: noAnswer(of.topics) }
  }

export interface Now {
  readonly revision: string
  readonly at: number
}

/** Undefined if the topic's object does not exist. Machines and nodes are kept elsewhere. */
export function snapshotOf(
  topic: TopicName,
  name: Topic,
  clusters: readonly ClusterState[],
  readable: Readable,
  { revision, at }: Now,
): Snapshot | undefined {
  const base = { topic: name, revision, at }
  if (topic.of === 'Fleet') {
    const { family } = topic
    const all = clusters.flatMap((c): readonly ReadableCluster[] => {
      const rights = readable.get(c.name)
      return rights === undefined ? [] : [{ ...rights, state: readAs(c, family, rights) }]
    })
    const allowed = all.filter(({ topics }) => topics.has(family)).map(({ state }) => state)
    switch (family) {
      case 'home':
        return { ...base, ...homeOf(all, at) }
      case 'pipeline':
        return { ...base, head: {}, rows: pipelineRows(allowed, at) }
      case 'clusters':
        return {
          ...base,
          head: {},
          rows: clusterRows(
            all.map(({ state }) => state),
            attentionByCluster(all, at),
          ).map(seenIn(all)),
        }
      case 'commits':
        return { ...base, head: {}, rows: commitRows(allowed) }
      default:
        return assertNever(family)
    }
  }
  const [whole, rights] = [clusters.find((c) => c.name === topic.cluster), readable.get(topic.cluster)]
  if (whole === undefined || rights === undefined) return undefined
  const cluster = readAs(whole, topic.family, rights)
  switch (topic.family) {
    case 'sets':
      return { ...base, head: {}, rows: setRows(cluster, at) }
    case 'budgets':
      return { ...base, head: budgetsHead(cluster, at), rows: budgetRows(cluster, at) }
    case 'repairs':
      return { ...base, head: {}, rows: repairRows(cluster) }
    case 'maintenance':
      return { ...base, head: {}, rows: maintenanceRows(cluster) }
    case 'set': {
      const set = cluster.list('sets').find((s) => s.metadata.name === topic.name)
      return set === undefined ? undefined : { ...base, head: setHead(cluster, set, at), rows: setParts(cluster, set) }
    }
    case 'machines':
    case 'node':
      return undefined
    default:
      return assertNever(topic)
  }
}
