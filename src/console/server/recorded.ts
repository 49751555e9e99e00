// The past before this console started: clusters at a moment and lives of objects, from a recorded history. It reads only, and shows each user
// the kinds that they may list now.
import type { KubeObject } from '#api/schema/object.ts'
import { KubeNodeError } from '#lib/errors.ts'
import { type PastFacts, pastFacts } from '#explain/report/history-facts.ts'
import { objectsAt } from '#history/ask/past-client.ts'
import { clusterLifeOf } from '#history/ask/cluster-life.ts'
import { type Life, lifeOf } from '#history/ask/lives.ts'
import { HistoryReader, type Range } from '#history/ask/reader.ts'
import { clustersIn } from '#history/store/file.ts'
import { GAP_REASONS } from '#history/store/writer.ts'
import type { RecordedGap, Snapshot, Topic, TopicFamily } from '../protocol.ts'
import type { ClusterState } from './cluster-cache.ts'
import { ClusterMachines } from './cluster-machines.ts'
import { type Readable, readAs, type Rights } from './rights.ts'
import { snapshotOf, type TopicName } from './topics.ts'
import { OtherForm, watchedObject } from './watched-object.ts'
import { LISTED_KINDS, WATCHED, type Watched, type WatchedKind } from './watched-kinds.ts'

/** Topics that are computed from recorded kinds alone. */
const RECORDED: ReadonlySet<TopicFamily> = new Set(['pipeline', 'machines', 'sets', 'repairs', 'maintenance'])
/** States of different moments are comparable by their words only. */
const REVISION = 'recorded-0'

export class Recorded {
  readonly #folder: string

  constructor(folder: string) {
    this.#folder = folder
  }

  /** Since when the clusters of this topic are recorded; undefined if none is. */
  begins(name: TopicName, readable: Readable): number | undefined {
    if (!RECORDED.has(name.family)) return undefined
    const all = this.#clustersOf(name, readable).flatMap((c) => this.#with(c, (r) => r.span()?.begins) ?? [])
    return all.length === 0 ? undefined : Math.min(...all)
  }

  snapshot(name: TopicName, topic: Topic, readable: Readable, at: number): Snapshot | undefined {
    const clusters = this.#clustersOf(name, readable).flatMap(
      (cluster) => this.#with(cluster, (reader) => clusterAt(reader, name.family, at)) ?? [],
    )
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
  life(
    readable: Readable,
    of: { readonly cluster: string; readonly kind: string; readonly name: string },
    range: Range,
  ): Life | undefined {
    const rights = readable.get(of.cluster)
    const kinds = rights === undefined ? new Set<string>() : kindsOf(rights)
    if (!kinds.has(of.kind)) return undefined
    const own = this.#with(of.cluster, (reader) =>
      reader.subjects(of.kind, of.name).length === 0
        ? undefined
        : lifeOf(reader, of.kind, of.name, range, (kind) => kinds.has(kind)),
    )
    const whole = of.kind === 'Cluster' ? this.#clusterLife(readable, of.name, range) : undefined
    return own === undefined || whole === undefined ? (own ?? whole) : together(own, whole)
  }

  /** What is recorded of the cluster itself, beside its Cluster on the hub. */
  #clusterLife(readable: Readable, cluster: string, range: Range): Life | undefined {
    const rights = readable.get(cluster)
    if (rights === undefined) return undefined
    const kinds = kindsOf(rights)
    return this.#with(cluster, (reader) => clusterLifeOf(reader, range, (kind) => kinds.has(kind)))
  }

  /** What a report adds from the time before: of kinds that this person may list. Undefined if the cluster is not recorded. */
  reported(readable: Readable, cluster: string, range: Range): PastFacts | undefined {
    const rights = readable.get(cluster)
    if (rights === undefined) return undefined
    const kinds = kindsOf(rights)
    return this.#with(cluster, (reader) => pastFacts(reader, range, (kind) => kinds.has(kind)))
  }

  #clustersOf(name: TopicName, readable: Readable): readonly string[] {
    return name.of === 'Fleet' ? [...readable.keys()] : [name.cluster]
  }

  #recorded(readable: Readable): readonly (readonly [string, Rights])[] {
    const recorded = new Set(clustersIn(this.#folder))
    return [...readable].filter(([cluster]) => recorded.has(cluster))
  }

  /** Opened for each question: the recorder may set the file aside and begin a new one. Undefined if the cluster is not recorded. */
  #with<T>(cluster: string, use: (reader: HistoryReader) => T): T | undefined {
    if (!clustersIn(this.#folder).includes(cluster)) return undefined
    let reader: HistoryReader | undefined
    try {
      reader = new HistoryReader(this.#folder, cluster)
      return use(reader)
    } catch (e) {
      // A file that is damaged, or newer than this program: its memory is all that the page has.
      if (e instanceof KubeNodeError) return undefined
      throw e
    } finally {
      reader?.close()
    }
  }
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
      kinds: isOfAll ? [] : [...new Set(all.map(({ kind = '' }) => kind))],
    }
  })
}

const together = (own: Life, whole: Life): Life => ({
  ...own,
  range: { from: Math.min(own.range.from, whole.range.from), to: Math.max(own.range.to, whole.range.to) },
  rows: [...own.rows, ...whole.rows].toSorted((a, b) => a.observed - b.observed),
  lanes: [...whole.lanes, ...own.lanes],
  gaps: [...own.gaps, ...whole.gaps],
  deeds: [...own.deeds, ...whole.deeds].toSorted((a, b) => a.observed - b.observed),
})

const kindsOf = ({ kinds }: Rights): ReadonlySet<string> => new Set([...kinds].map((kind) => WATCHED[kind].type.kind))

/** Only what the topic is computed from. Programs, budgets and blames are not recorded. */
function clusterAt(reader: HistoryReader, family: TopicFamily, at: number): ClusterState {
  const kinds = LISTED_KINDS.filter((kind) => WATCHED[kind].topics.includes(family))
  const objects = new Map<WatchedKind, readonly KubeObject[]>(kinds.map((kind) => [kind, observedAt(reader, kind, at)]))
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
    readState: () => 'Read',
    list,
    machine: (name) => find('machines', name),
    node: (name) => find('nodes', name),
  }
}

function observedAt(reader: HistoryReader, kind: WatchedKind, at: number): readonly KubeObject[] {
  return objectsAt(reader, WATCHED[kind].type, at).flatMap((object) => {
    try {
      return [watchedObject(kind, object)]
    } catch (e) {
      // As in the cluster of now: it is not drawn.
      if (e instanceof OtherForm) return []
      throw e
    }
  })
}
