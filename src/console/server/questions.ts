// A page's queries besides its topics: why an object waits, where something is, and how a topic was before.
import { KINDS } from '#api/kinds.ts'
import { programsOf, type StoppedProgram, stoppedFinding } from '#explain/programs.ts'
import { PartialReader } from '#explain/partial-reader.ts'
import { readWhy } from '#explain/read-why.ts'
import { blockerFindings } from '#explain/repairs/blockers.ts'
import { observeRepairs } from '#explain/repairs/observe.ts'
import { purposeOfPermit } from '#api/protocol/part.ts'
import { shellWord } from '#lib/shell-word.ts'
import { adviceOnce, type Finding } from '#explain/finding.ts'
import { type OtherCluster, withHub } from '#explain/with-hub.ts'
import type { KubeClient } from '#kube/client.ts'
import { nodeType } from '#nodes/objects.ts'
import type { ResourceType } from '#api/schema/resource.ts'
import { cellsAt, isMachines, rowsDelta } from '../delta.ts'
import { MACHINE_COLUMNS, type MachineColumn } from '../machine-columns.ts'
import type {
  Delta,
  MachinesTopic,
  SearchAnswer,
  SearchHit,
  Snapshot,
  TopicFamily,
  WhyAnswer,
  WhyNode,
} from '../protocol.ts'
import type { ClusterState } from './cluster-cache.ts'
import { Refused } from './request.ts'
import type { Readable } from './rights.ts'
import { liftOf, pageText } from './views/parts.ts'
import { defined } from '#lib/defined.ts'

const NAME = /^[a-z0-9]([-a-z0-9.]{0,251}[a-z0-9])?$/

/** KubeNode's kinds and Nodes; nothing else, and no Secret. */
const TYPES: ReadonlyMap<string, ResourceType> = new Map<string, ResourceType>([
  ['Node', nodeType],
  ...KINDS.map((k) => [k.kind, k] as const),
])

export interface WhyRequest {
  readonly client: KubeClient
  readonly cluster: string
  readonly kind: string
  readonly name: string
  readonly namespace: string | undefined
  readonly now: number
  /** Unavailable programs of the cluster, if the user may know. */
  readonly away: readonly StoppedProgram[]
  /** Other clusters that the user may read and that have sources. */
  readonly hubs: readonly OtherCluster[]
}

export async function whyAnswer(asked: WhyRequest): Promise<WhyAnswer> {
  const { client, cluster, kind, name, namespace, now, away, hubs } = asked
  const type = TYPES.get(kind)
  if (type === undefined) throw new Refused(404, 'NotFound', `there is no kind ${kind}`)
  const isName = NAME.test(name) && (namespace === undefined || NAME.test(namespace))
  const key = { name, ...(type.namespaced && namespace !== undefined && { namespace }) }
  const object = isName && (!type.namespaced || namespace !== undefined) ? await client.get(type, key) : undefined
  if (object === undefined) throw new Refused(404, 'NotFound', `${kind.toLowerCase()} "${name}" not found`)
  const found = { ...object, kind }
  const story = await withHub(await readWhy(client, found, now), found, client, () => Promise.resolve(hubs))
  const blocked = kind === 'Node' ? await blockedBy(client, name, now) : []
  const own = `kubenode why ${kind.toLowerCase()}/${name}`
  const place = namespace === undefined || !type.namespaced ? '' : ` --namespace ${namespace}`
  return {
    cluster,
    kind,
    name,
    tree: nodeOf(
      adviceOnce({
        ...story,
        below: [
          ...away.filter(({ program }) => programsOf([kind]).includes(program)).map((one) => stoppedFinding(one, now)),
          ...(story.below ?? []),
          ...(blocked.length === 0 ? [] : [{ text: 'its repair', below: blocked }]),
        ],
      }),
    ),
    command: `${own}${place} --context ${shellWord(cluster)}`,
  }
}

const nodeOf = (finding: Finding): WhyNode => ({
  text: pageText(finding.text),
  ...defined({ cause: finding.cause }),
  ...liftOf(finding),
  below: (finding.below ?? []).map(nodeOf),
})

/** A verdict from incomplete data could be wrong: with a gap there is none. */
async function blockedBy(client: KubeClient, name: string, now: number): Promise<readonly Finding[]> {
  const reader = new PartialReader(client)
  const seen = await observeRepairs(reader, name, now)
  if (reader.gaps.length > 0) return reader.gaps
  return seen === undefined ? [] : blockerFindings(seen)
}

const MOST_HITS = 50
const MOST_QUERY = 100

interface Candidate extends SearchHit {
  /** Its searchable words. */
  readonly words: readonly string[]
}

export function searched(query: string, clusters: readonly ClusterState[], readable: Readable): SearchAnswer {
  const wanted = query.trim().toLowerCase().slice(0, MOST_QUERY)
  if (wanted === '') return { hits: [], isTruncated: false }
  const found: { readonly rank: number; readonly hit: SearchHit }[] = []
  for (const cluster of clusters)
    for (const { words, ...hit } of candidates(cluster, readable.get(cluster.name)?.topics ?? new Set())) {
      const rank = rankOf(wanted, words)
      if (rank !== undefined) found.push({ rank, hit })
    }
  const sorted = found.toSorted((a, b) => a.rank - b.rank || (a.hit.name < b.hit.name ? -1 : 1))
  return { hits: sorted.slice(0, MOST_HITS).map(({ hit }) => hit), isTruncated: sorted.length > MOST_HITS }
}

/** The whole word, then its start, then any part of it. */
function rankOf(wanted: string, words: readonly string[]): number | undefined {
  const ranks = words.flatMap((word) => {
    const at = word.toLowerCase().indexOf(wanted)
    return at === -1 ? [] : [at > 0 ? 2 : word.length === wanted.length ? 0 : 1]
  })
  return ranks.length === 0 ? undefined : Math.min(...ranks)
}

function* candidates(cluster: ClusterState, topics: ReadonlySet<TopicFamily>): Generator<Candidate> {
  const { name: own } = cluster
  if (topics.size > 0) yield { cluster: own, kind: 'Cluster', name: own, text: cluster.state, words: [own] }
  if (topics.has('machines'))
    for (const {
      metadata: { name = '' },
      state,
      node,
    } of cluster.list('machines'))
      yield { cluster: own, kind: 'Machine', name, text: state.phase, words: [name, node] }
  if (topics.has('sets'))
    for (const {
      metadata: { name = '' },
      spec,
      status,
    } of cluster.list('sets'))
      yield {
        cluster: own,
        kind: 'MachineComponentSet',
        name,
        text: status?.phase ?? 'Pending',
        words: [name, ...spec.components.map((c) => `${c.name} ${c.version}`)],
      }
  if (topics.has('pipeline'))
    for (const {
      metadata: { name = '', namespace },
      spec,
      status,
    } of cluster.list('releases'))
      yield {
        cluster: own,
        kind: 'Release',
        name,
        ...defined({ namespace }),
        text: status?.phase ?? 'Pending',
        words: [name, spec.commit, spec.track, ...(spec.subject === undefined ? [] : [spec.subject])],
      }
  if (topics.has('repairs'))
    for (const {
      metadata: { name = '' },
      spec,
      status,
    } of cluster.list('jobs'))
      yield {
        cluster: own,
        kind: 'RemedyOperationJob',
        name,
        called: `repair of node ${spec.node.name} by rule ${spec.remedierRef.name}`,
        text: status?.outcome ?? status?.phase ?? 'Pending',
        words: [name, spec.node.name, spec.remedierRef.name],
      }
  if (topics.has('budgets')) {
    for (const {
      metadata: { name = '' },
      spec,
      status,
    } of cluster.list('permits')) {
      const called = `permit for ${purposeOfPermit(spec)}`
      const text = status?.phase ?? 'Requested'
      yield { cluster: own, kind: 'OperationPermit', name, called, text, words: [name, called] }
    }
    for (const {
      metadata: { name = '' },
      spec,
    } of cluster.list('policies'))
      yield { cluster: own, kind: 'DefenderPolicy', name, text: spec.mode, words: [name] }
  }
}

/** The changes of one topic between two moments, possibly none. */
export function changesBetween(before: Snapshot, after: Snapshot): Delta {
  const { topic } = after
  if (isMachines(before) && isMachines(after)) return machineChanges(before, after)
  const none = { topic, set: [], removed: [] }
  return isMachines(before) || isMachines(after) ? none : (rowsDelta(before, after) ?? none)
}

/** In one memory words are only appended, so equal numbers are equal words. A recorded state has words of its own. */
function machineChanges(before: MachinesTopic, later: MachinesTopic): Delta {
  const after = before.words.every((word, n) => later.words[n] === word) ? later : inWordsOf(before, later)
  const places = new Map(before.names.map((name, place) => [name, place]))
  const machines = after.names.flatMap((name, place) => {
    const cells = cellsAt(after, place)
    const old = places.get(name)
    const isSame = old !== undefined && MACHINE_COLUMNS.every((c, n) => before.columns[c][old] === cells[n])
    return isSame ? [] : [[name, cells] as const]
  })
  const now = new Set(after.names)
  return {
    topic: after.topic,
    words: after.words.slice(before.words.length),
    machines,
    removed: before.names.filter((name) => !now.has(name)),
  }
}

function inWordsOf({ words }: MachinesTopic, topic: MachinesTopic): MachinesTopic {
  const known = new Map(words.map((word, n) => [word, n]))
  const all = [...words]
  const numbers = topic.words.map((word) => {
    const number = known.get(word) ?? all.push(word) - 1
    known.set(word, number)
    return number
  })
  const translated = (column: MachineColumn): readonly number[] =>
    column === 'since' ? topic.columns.since : topic.columns[column].map((n) => numbers[n] ?? 0)
  return {
    ...topic,
    words: all,
    columns: Object.fromEntries(MACHINE_COLUMNS.map((c) => [c, translated(c)])) as unknown as MachinesTopic['columns'],
  }
}
