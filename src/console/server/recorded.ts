// The past before this console started: clusters at a moment and lives of objects, from a recorded history. It reads only, and shows each user
// the kinds that they may list now. Long answers are computed in steps.
import type { KubeObject } from '#api/schema/object.ts'
import { KubeNodeError } from '#lib/errors.ts'
import type { Steps } from '#lib/steps.ts'
import { KINDS_IN_WORDS } from '#explain/attention/kinds-in-words.ts'
import { type PastFacts, pastFacts } from '#explain/report/history-facts.ts'
import { objectPagesAt } from '#history/ask/past-client.ts'
import { clusterLifeOf } from '#history/ask/cluster-life.ts'
import { type Life, lifeOf } from '#history/ask/lives.ts'
import { HistoryReader, type Range } from '#history/ask/reader.ts'
import { shapeOfKind } from '#history/facts/shapes.ts'
import { clustersIn } from '#history/store/file.ts'
import { GAP_REASONS } from '#history/store/writer.ts'
import type { RecordedGap, Snapshot, Topic, TopicFamily } from '../protocol.ts'
import type { ClusterState } from './cluster-cache.ts'
import { ClusterMachines } from './cluster-machines.ts'
import { type Readable, readAs, type Rights } from './rights.ts'
import { snapshotOf, type TopicName } from './topics.ts'
import { OtherForm, watchedObject } from './watched-object.ts'
import { LISTED_KINDS, WATCHED, WATCHED_KINDS, type Watched, type WatchedKind } from './watched-kinds.ts'

/** Topics that are computed from recorded kinds alone. */
const RECORDED: ReadonlySet<TopicFamily> = new Set(['home', 'pipeline', 'machines', 'sets', 'repairs', 'maintenance'])
/** States of different moments are comparable by their words only. */
const REVISION = 'recorded-0'

export class Recorded {
  readonly #folder: string

  constructor(folder: string) {
    this.#folder = folder
  }

  /** Since when the clusters of this topic are recorded; undefined if none is. */
  *begins(name: TopicName, readable: Readable): Steps<number | undefined> {
    if (!RECORDED.has(name.family)) return undefined
    const all: number[] = []
    for (const cluster of this.#clustersOf(name, readable)) {
      const begins = this.#with(cluster, (reader) => reader.span()?.begins)
      if (begins !== undefined) all.push(begins)
      yield
    }
    return all.length === 0 ? undefined : Math.min(...all)
  }

  *snapshot(name: TopicName, topic: Topic, readable: Readable, at: number): Steps<Snapshot | undefined> {
    const clusters: ClusterState[] = []
    for (const cluster of this.#clustersOf(name, readable)) {
      const state = yield* this.#inSteps(cluster, (reader) => clusterAt(reader, name.family, at))
      if (state !== undefined) clusters.push(state)
      else if (name.family === 'home') clusters.push(unrecorded(cluster))
    }
    if (name.family !== 'machines') return snapshotOf(name, topic, clusters, readable, { revision: REVISION, at })
    const [cluster, rights] = [clusters[0], readable.get(name.cluster)]
    if (cluster === undefined || rights === undefined) return undefined
    return new ClusterMachines(readAs(cluster, 'machines', rights), REVISION, '').snapshot(REVISION, at)
  }

  /** Times around a moment in which something was not recorded, for kinds that this person may read. */
  gaps(readable: Readable, at: number, now: number): readonly RecordedGap[] {
    return this.#recorded(readable).flatMap(([cluster, rights]) => {
      const kinds = kindsOf(rights)
      const gaps = this.#with(cluster, (reader) => reader.gapsUntil(now, { from: at, to: at + 1 })) ?? []
      return mergedGaps(
        cluster,
        gaps.filter(({ subject, kind }) => subject === undefined && (kind === undefined || kinds.has(kind))),
      )
    })
  }

  /** Undefined if the person may not read the kind there, or no such object was recorded. */
  *life(
    readable: Readable,
    of: { readonly cluster: string; readonly kind: string; readonly name: string },
    range: Range,
  ): Steps<Life | undefined> {
    const rights = readable.get(of.cluster)
    const kinds = rights === undefined ? new Set<string>() : kindsOf(rights)
    if (!kinds.has(of.kind)) return undefined
    const own = yield* this.#inSteps(of.cluster, function* (reader) {
      if (reader.subjects(of.kind, of.name).length === 0) return undefined
      return yield* lifeOf(reader, of.kind, of.name, range, (kind) => kinds.has(kind))
    })
    const whole = of.kind === 'Cluster' ? yield* this.#clusterLife(readable, of.name, range) : undefined
    return own === undefined || whole === undefined ? (own ?? whole) : together(own, whole)
  }

  /** What is recorded of the cluster itself, beside its Cluster on the hub. */
  *#clusterLife(readable: Readable, cluster: string, range: Range): Steps<Life | undefined> {
    const rights = readable.get(cluster)
    if (rights === undefined) return undefined
    const kinds = kindsOf(rights)
    return yield* this.#inSteps(cluster, (reader) => clusterLifeOf(reader, range, (kind) => kinds.has(kind)))
  }

  /** What a report adds from the time before: of kinds that this person may list. Undefined if the cluster is not recorded. */
  *reported(readable: Readable, cluster: string, range: Range): Steps<PastFacts | undefined> {
    const rights = readable.get(cluster)
    if (rights === undefined) return undefined
    const kinds = kindsOf(rights)
    return yield* this.#inSteps(cluster, (reader) => pastFacts(reader, range, (kind) => kinds.has(kind)))
  }

  #clustersOf(name: TopicName, readable: Readable): readonly string[] {
    return name.of === 'Fleet' ? [...readable.keys()] : [name.cluster]
  }

  #recorded(readable: Readable): readonly (readonly [string, Rights])[] {
    const recorded = new Set(clustersIn(this.#folder))
    return [...readable].filter(([cluster]) => recorded.has(cluster))
  }

  #with<T>(cluster: string, use: (reader: HistoryReader) => T): T | undefined {
    const reader = this.#opened(cluster)
    try {
      return reader === undefined ? undefined : use(reader)
    } catch (e) {
      return noAnswer(e)
    } finally {
      reader?.close()
    }
  }

  *#inSteps<T>(cluster: string, use: (reader: HistoryReader) => Steps<T>): Steps<T | undefined> {
    const reader = this.#opened(cluster)
    try {
      return reader === undefined ? undefined : yield* use(reader)
    } catch (e) {
      return noAnswer(e)
    } finally {
      reader?.close()
    }
  }

  /** For each question: the recorder may set the file aside and begin a new one. Undefined if the cluster is not recorded. */
  #opened(cluster: string): HistoryReader | undefined {
    if (!clustersIn(this.#folder).includes(cluster)) return undefined
    try {
      return new HistoryReader(this.#folder, cluster)
    } catch (e) {
      return noAnswer(e)
    }
  }
}

/** A file that is damaged, or newer than this program: its memory is all that the page has. */
function noAnswer(e: unknown): undefined {
  if (!(e instanceof KubeNodeError)) throw e
}

/** The watches of all kinds are lost and found together: one gap for each reason. */
function mergedGaps(cluster: string, gaps: ReturnType<HistoryReader['gaps']>): readonly RecordedGap[] {
  return [...new Set(gaps.map(({ why }) => why))].map((reason): RecordedGap => {
    const all = gaps.filter(({ why }) => why === reason)
    const lasts = all.some(({ ends }) => ends === undefined)
    const isOfAll = all.some(({ kind }) => kind === undefined)
    return {
      cluster,
      starts: Math.min(...all.map(({ starts }) => starts)),
      ...(!lasts && { ends: Math.max(...all.map(({ ends = 0 }) => ends)) }),
      why: GAP_REASONS[reason],
      kinds: isOfAll ? [] : [...new Set(all.map(({ kind = '' }) => inWords(kind)))],
    }
  })
}

const inWords = (kind: string): string => {
  const watched = WATCHED_KINDS.find((one) => WATCHED[one].type.kind === kind)
  return watched === undefined ? kind : KINDS_IN_WORDS[watched]
}

const together = (own: Life, whole: Life): Life => ({
  ...own,
  range: { from: Math.min(own.range.from, whole.range.from), to: Math.max(own.range.to, whole.range.to) },
  rows: [...own.rows, ...whole.rows].toSorted((a, b) => a.observed - b.observed),
  leftOut: whole.leftOut,
  lanes: [...whole.lanes, ...own.lanes],
  gaps: [...own.gaps, ...whole.gaps],
  deeds: [...own.deeds, ...whole.deeds].toSorted((a, b) => a.observed - b.observed),
})

const kindsOf = ({ kinds }: Rights): ReadonlySet<string> => new Set([...kinds].map((kind) => WATCHED[kind].type.kind))

/** Home names it: a cluster without a record of that time must not look like a healthy one. */
const unrecorded = (name: string): ClusterState => ({
  name,
  state: 'Unreachable',
  message: 'it was not recorded at that time',
  version: undefined,
  readState: () => 'NotRecorded',
  list: () => [],
  machine: () => undefined,
  node: () => undefined,
})

/** Only what the topic is computed from. Programs, budgets and blames are not recorded, and a kind in a gap was not either: home names them. */
function* clusterAt(reader: HistoryReader, family: TopicFamily, at: number): Steps<ClusterState | undefined> {
  const span = reader.span()
  if (span === undefined || at < span.begins) return undefined
  const gaps = reader.gaps({ from: at, to: at + 1 }).filter(({ subject }) => subject === undefined)
  const isKnown = (kind: WatchedKind): boolean =>
    shapeOfKind(WATCHED[kind].type.kind) !== undefined &&
    gaps.every((gap) => gap.kind !== undefined && gap.kind !== WATCHED[kind].type.kind)
  const objects = new Map<WatchedKind, readonly KubeObject[]>()
  for (const kind of LISTED_KINDS)
    if (WATCHED[kind].topics.includes(family)) objects.set(kind, yield* observedAt(reader, kind, at))
  const list = <K extends WatchedKind>(kind: K) => (objects.get(kind) ?? []) as unknown as readonly Watched[K][]
  const named = new Map<WatchedKind, ReadonlyMap<string, KubeObject>>()
  const find = <K extends WatchedKind>(kind: K, name: string): Watched[K] | undefined => {
    const all = named.get(kind) ?? new Map((objects.get(kind) ?? []).map((o) => [o.metadata.name ?? '', o]))
    named.set(kind, all)
    return all.get(name) as unknown as Watched[K] | undefined
  }
  return {
    name: reader.cluster,
    state: 'Connected',
    message: undefined,
    version: undefined,
    readState: (kind) => (isKnown(kind) ? 'Read' : 'NotRecorded'),
    list,
    machine: (name) => find('machines', name),
    node: (name) => find('nodes', name),
  }
}

function* observedAt(reader: HistoryReader, kind: WatchedKind, at: number): Steps<readonly KubeObject[]> {
  const out: KubeObject[] = []
  for (const page of objectPagesAt(reader, WATCHED[kind].type, at)) {
    for (const object of page)
      try {
        out.push(watchedObject(kind, object))
      } catch (e) {
        // As in the cluster of now: it is not drawn.
        if (!(e instanceof OtherForm)) throw e
      }
    yield
  }
  return out
}
