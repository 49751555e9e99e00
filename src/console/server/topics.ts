// Which topics exist, what each is computed from, and who may read it. Pure.
import { assertNever } from '#lib/errors.ts'
import type { Snapshot, Topic, TopicFamily } from '../protocol.ts'
import type { ClusterState } from './cluster-cache.ts'
import { budgetRows, budgetsHead } from './views/budgets.ts'
import { clusterRows } from './views/clusters.ts'
import { attention, homeHead, type ReadableCluster } from './views/home.ts'
import { commitRows, pipelineRows } from './views/pipeline.ts'
import { maintenanceRows, repairRows } from './views/repairs.ts'
import { setHead, setParts, setRows } from './views/sets.ts'

/** What a person may read: by cluster, the families of topics. A cluster of which nothing may be read is absent. */
export type Readable = ReadonlyMap<string, ReadonlySet<TopicFamily>>

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

/** The longest name of an object, twice, and some words. */
const MOST_CHARACTERS = 600

/** Undefined: there is no such topic. Names come percent-encoded, since a context may be called anything. */
export function parseTopic(topic: Topic): TopicName | undefined {
  if (topic.length > MOST_CHARACTERS) return undefined
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

/** Of a topic of one cluster: whether this person may read it. Topics of the fleet show each what they may read. */
export const mayRead = (topic: TopicName, readable: Readable): boolean =>
  topic.of === 'Fleet' || readable.get(topic.cluster)?.has(topic.family) === true

/** People with equal rights share what is computed for a topic of the fleet. */
export function audienceOf(topic: TopicName, readable: Readable): string {
  if (topic.of !== 'Fleet') return ''
  const { family } = topic
  const wanted = [...readable]
    .filter(([, families]) => family === 'home' || family === 'clusters' || families.has(family))
    .map(([cluster, families]) =>
      family === 'home' || family === 'clusters' ? [cluster, ...[...families].toSorted()] : [cluster],
    )
  return JSON.stringify(wanted.toSorted(([a = ''], [b = '']) => (a < b ? -1 : 1)))
}

export interface Now {
  readonly revision: string
  readonly at: number
}

/** Undefined: the object of the topic does not exist. Machines and nodes are kept elsewhere. */
export function snapshotOf(
  topic: TopicName,
  name: Topic,
  clusters: readonly ClusterState[],
  readable: Readable,
  { revision, at }: Now,
): Snapshot | undefined {
  const base = { topic: name, revision, at }
  if (topic.of === 'Fleet') {
    const all = clusters.filter((c) => readable.has(c.name))
    const allowed = all.filter((c) => readable.get(c.name)?.has(topic.family) === true)
    switch (topic.family) {
      case 'home': {
        const own = all.map((state): ReadableCluster => ({ state, topics: readable.get(state.name) ?? new Set() }))
        const rows = attention(own)
        return { ...base, head: homeHead(own, rows), rows }
      }
      case 'pipeline':
        return { ...base, head: {}, rows: pipelineRows(allowed, at) }
      case 'clusters':
        return { ...base, head: {}, rows: clusterRows(all, allowed) }
      case 'commits':
        return { ...base, head: {}, rows: commitRows(allowed) }
      default:
        return assertNever(topic)
    }
  }
  const cluster = clusters.find((c) => c.name === topic.cluster)
  if (cluster === undefined) return undefined
  switch (topic.family) {
    case 'sets':
      return { ...base, head: {}, rows: setRows(cluster, at) }
    case 'budgets':
      return { ...base, head: budgetsHead(cluster), rows: budgetRows(cluster, at) }
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
