// The state of all clusters as topics: computes changes at most four times a second, remembers them, and passes them to followers.
import type { Clock, Timer } from '#lib/clock.ts'
import { messageOf } from '#lib/errors.ts'
import type { Logger } from '#lib/log.ts'
import type { Snapshot, Topic, TopicFamily } from '../protocol.ts'
import { topicOf } from '../topic-name.ts'
import type { ClusterCache } from './cluster-cache.ts'
import { ClusterMachines } from './cluster-machines.ts'
import { type Entry, makeRoom, MOST_OF_ALL, TopicLog } from './topic-log.ts'
import { readAs, type Readable } from './rights.ts'
import { audienceOf, parseTopic, snapshotOf, type TopicName } from './topics.ts'

const BATCH_MS = 250
/** A topic without readers is dropped after this time, unless its past is kept. A stream is a reader. */
const IDLE_MS = 60_000
/** Windows open, holds end and soaks pass without any object changing. */
const TIME_PASSES_MS = 15_000
/** Snapshots in memory; beyond this the longest unused ones without readers are dropped. */
const MOST_TOPICS = 200
/** Of these, how many keep the past for users with fewer rights than the console; changed rights leave old ones behind. */
const MOST_PASTS = 50

/** The last hours of these can be replayed, with or without readers at the time. */
const REMEMBERED: ReadonlySet<TopicFamily> = new Set(['home', 'pipeline', 'clusters', 'machines', 'sets'])

interface Kept {
  readonly name: TopicName
  readonly topic: Topic
  readonly audience: string
  readonly readable: Readable
  readonly log: TopicLog
  usedAt: number
  isDirty: boolean
}

/** The followers' key of a cluster's machine. */
export const machineKey = (cluster: string, name: string): string => `${cluster}\n${name}`

/** A change of one topic for one audience, as sent. */
export interface Changed {
  readonly revision: number
  readonly at: number
  readonly topic: Topic
  readonly audience: string
  /** Undefined if only a new snapshot helps. */
  readonly json: string | undefined
}

export interface Followed {
  readonly name: TopicName
  readonly topic: Topic
}

interface Wanted extends Followed {
  readonly readable: Readable
}

export interface Follower {
  readonly topics: readonly Followed[]
  readonly readable: Readable
  readonly take: (changes: readonly Changed[], machines: ReadonlySet<string>) => void
}

export interface FleetOptions {
  readonly clock: Clock
  readonly log: Logger
  /** Distinguishes this server start from others. */
  readonly start: string
  /** The console's own rights: the past recorded without readers is for users with the same rights. */
  readonly everything: () => Readable
  /** Characters of changes kept for the past, across all topics. */
  readonly mostPast?: number
}

export class Fleet {
  readonly start: string
  readonly #options: FleetOptions
  readonly #clusters = new Map<string, ClusterCache>()
  /** By cluster and audience: only users who may list repairs and blames get them. */
  readonly #machines = new Map<string, Map<string, ClusterMachines>>()
  readonly #kept = new Map<string, Kept>()
  /** Each follower with the keys of its topics, as far as they are kept here. */
  readonly #followers = new Map<Follower, ReadonlyMap<string, Wanted>>()
  /** When each cluster was first read completely, and when all of the first ones were. */
  readonly #clusterReadAt = new Map<string, number>()
  #readAt: number | undefined
  #touched = new Set<string>()
  #revision = 1
  #timer: Timer | undefined
  #lastPass = 0

  constructor(options: FleetOptions) {
    this.#options = options
    this.start = options.start
  }

  add(cluster: ClusterCache): void {
    this.#clusters.set(cluster.name, cluster)
    this.#machines.set(cluster.name, new Map())
  }

  /** Its topics end with the next pass. */
  remove(name: string): void {
    this.#clusters.delete(name)
    this.#clusterReadAt.delete(name)
    this.#machines.delete(name)
    for (const kept of this.#kept.values()) kept.isDirty = true
    this.#passSoon(BATCH_MS)
  }

  get clusters(): readonly ClusterCache[] {
    return [...this.#clusters.values()]
  }

  cluster(name: string): ClusterCache | undefined {
    return this.#clusters.get(name)
  }

  /** Number of kept topics. */
  get size(): number {
    return this.#kept.size
  }

  get revision(): string {
    return `${this.start}-${this.#revision}`
  }

  /** Called by the caches. */
  changed(cluster: string, topics: readonly TopicFamily[]): void {
    const families = new Set(topics)
    if (families.has('machines')) for (const machines of this.#machinesOf(cluster)) machines.touch()
    for (const kept of this.#kept.values())
      if (families.has(kept.name.family) && (kept.name.of === 'Fleet' || kept.name.cluster === cluster))
        kept.isDirty = true
    this.#passSoon(BATCH_MS)
  }

  machineChanged(cluster: string, name: string, isShown: boolean): void {
    if (isShown) for (const machines of this.#machinesOf(cluster)) machines.changed(name)
    this.#touched.add(machineKey(cluster, name))
  }

  /** The current revision. */
  current(): string {
    this.#pass()
    return this.revision
  }

  /** Undefined if there is no such topic, or its object does not exist. */
  snapshot(name: TopicName, topic: Topic, readable: Readable): Snapshot | undefined {
    if (name.family === 'machines') {
      const machines = this.#machinesFor(name, readable)
      this.#pass()
      return machines?.snapshot(this.revision, this.#options.clock.now())
    }
    this.#pass()
    return this.#keptOf(name, topic, readable)?.log.now
  }

  /** The changes since a revision; undefined if only a snapshot helps. */
  since(name: TopicName, topic: Topic, readable: Readable, revision: number): readonly Entry[] | undefined {
    return this.#logOf(name, topic, readable)?.since(revision)
  }

  past(
    name: TopicName,
    topic: Topic,
    readable: Readable,
    moment: number,
  ): { readonly begins: number; readonly snapshot: Snapshot } | undefined {
    const log = this.#logOf(name, topic, readable)
    if (log === undefined) return undefined
    const begins = Math.max(log.begins.at, this.#readAtOf(name))
    return { begins, snapshot: log.at(Math.max(begins, moment)) }
  }

  /** Objects that appear during a cluster's first read are not changes. */
  #readAtOf(name: TopicName): number {
    const readAt = name.of === 'Fleet' ? this.#readAt : this.#clusterReadAt.get(name.cluster)
    return readAt ?? this.#options.clock.now()
  }

  /** Repeated after a clock moved back. */
  #noteRead(now: number): void {
    for (const { name, isSynced } of this.#clusters.values())
      if (isSynced && (this.#clusterReadAt.get(name) ?? Infinity) > now) this.#clusterReadAt.set(name, now)
    if (this.#clusterReadAt.size === this.#clusters.size) this.#readAt = Math.min(now, this.#readAt ?? now)
  }

  follow(follower: Follower): () => void {
    const { topics, readable } = follower
    const kept = topics.filter(({ name }) => name.family !== 'machines' && name.family !== 'node')
    const keys = kept.map(
      ({ name, topic }) =>
        [topicKey({ topic, audience: audienceOf(name, readable) }), { name, topic, readable }] as const,
    )
    this.#followers.set(follower, new Map(keys))
    return () => this.#followers.delete(follower)
  }

  /** Starts recording the topics that can be replayed. */
  remember(): void {
    const readable = this.#options.everything()
    const names = [
      'home',
      'pipeline',
      'clusters',
      ...[...this.#clusters.keys()].flatMap((c) => [topicOf('machines', c), topicOf('sets', c)]),
    ]
    for (const topic of names) {
      const name = parseTopic(topic)
      if (name !== undefined) this.#logOf(name, topic, readable)
    }
    this.#passSoon(TIME_PASSES_MS)
  }

  stop(): void {
    this.#timer?.cancel()
    this.#followers.clear()
  }

  #machinesOf(cluster: string): Iterable<ClusterMachines> {
    return this.#machines.get(cluster)?.values() ?? []
  }

  #allMachines(): readonly ClusterMachines[] {
    return [...this.#machines.values()].flatMap((all) => [...all.values()])
  }

  #machinesFor(name: TopicName & { readonly of: 'Cluster' }, readable: Readable): ClusterMachines | undefined {
    const [cluster, rights] = [this.#clusters.get(name.cluster), readable.get(name.cluster)]
    const all = this.#machines.get(name.cluster)
    if (cluster === undefined || rights === undefined || all === undefined) return undefined
    const audience = audienceOf(name, readable)
    const machines = all.get(audience) ?? new ClusterMachines(readAs(cluster, 'machines', rights), this.start, audience)
    all.set(audience, machines)
    return machines
  }

  #logOf(name: TopicName, topic: Topic, readable: Readable): TopicLog | undefined {
    const machines = name.family === 'machines' ? this.#machinesFor(name, readable) : undefined
    this.#pass()
    return name.family === 'machines'
      ? machines?.logAt(this.revision, this.#options.clock.now())
      : this.#keptOf(name, topic, readable)?.log
  }

  #keptOf(name: TopicName, topic: Topic, readable: Readable): Kept | undefined {
    const audience = audienceOf(name, readable)
    const known = this.#kept.get(topicKey({ topic, audience }))
    const now = this.#options.clock.now()
    if (known !== undefined) {
      known.usedAt = this.#options.clock.monotonic()
      return known
    }
    const first = snapshotOf(name, topic, this.clusters, readable, { revision: this.revision, at: now })
    if (first === undefined) return undefined
    const kept = this.#keep({ name, topic, readable }, audience, first)
    this.#forget()
    return kept
  }

  #keep({ name, topic, readable }: Wanted, audience: string, first: Snapshot): Kept {
    const kept: Kept = {
      name,
      topic,
      audience,
      readable,
      log: new TopicLog(this.start, first),
      usedAt: this.#options.clock.monotonic(),
      isDirty: false,
    }
    this.#kept.set(topicKey(kept), kept)
    return kept
  }

  /** Topics of open streams whose missing object now exists. */
  #returned(revision: string, number: number, at: number): readonly Changed[] {
    const absent = [...this.#followers.values()].flatMap((keys) => [...keys].filter(([key]) => !this.#kept.has(key)))
    return [...new Map(absent).values()].flatMap(({ name, topic, readable }) => {
      const first = snapshotOf(name, topic, this.clusters, readable, { revision, at })
      if (first === undefined) return []
      const { audience } = this.#keep({ name, topic, readable }, audienceOf(name, readable), first)
      return [{ revision: number, at, topic, audience, json: undefined }]
    })
  }

  #passSoon(ms: number): void {
    if (this.#timer !== undefined && ms !== BATCH_MS) return
    const due = ms === BATCH_MS ? Math.max(0, this.#lastPass + ms - this.#options.clock.monotonic()) : ms
    if (ms === BATCH_MS && this.#isDue) return
    this.#timer?.cancel()
    this.#isDue = ms === BATCH_MS
    this.#timer = this.#options.clock.after(due, () => {
      const wasDue = this.#isDue
      this.#timer = undefined
      this.#isDue = false
      if (!wasDue) for (const kept of this.#kept.values()) kept.isDirty = true
      this.#pass()
      this.#forget()
      this.#makeRoom()
      this.#passSoon(TIME_PASSES_MS)
    })
  }
  /** The timer serves batches too, not only the passing of time. */
  #isDue = false

  /** Processes everything dirty under one new revision. */
  #pass(): void {
    const { clock, log } = this.#options
    this.#lastPass = clock.monotonic()
    const at = clock.now()
    const revision = this.#revision + 1
    const named = `${this.start}-${revision}`
    const changes: Changed[] = []
    for (const machines of this.#allMachines()) {
      const { topic, audience } = machines
      try {
        const taken = machines.takeChanges(named, revision, at)
        if (taken === 'Nothing') continue
        changes.push({ revision, at, topic, audience, json: taken === 'Renewed' ? undefined : taken.json })
      } catch (e) {
        log.warn('cannot draw a topic', { topic, error: messageOf(e) })
      }
    }
    for (const kept of this.#kept.values()) {
      if (!kept.isDirty) continue
      kept.isDirty = false
      try {
        const after = snapshotOf(kept.name, kept.topic, this.clusters, kept.readable, { revision: named, at })
        if (after === undefined) {
          this.#kept.delete(topicKey(kept))
          changes.push({ revision, at, topic: kept.topic, audience: kept.audience, json: undefined })
          continue
        }
        const json = kept.log.putRows(after)
        if (json !== undefined) changes.push({ revision, at, topic: kept.topic, audience: kept.audience, json })
      } catch (e) {
        log.warn('cannot draw a topic', { topic: kept.topic, error: messageOf(e) })
      }
    }
    changes.push(...this.#returned(named, revision, at))
    this.#noteRead(at)
    const touched = this.#touched
    this.#touched = new Set()
    if (changes.length > 0) this.#revision = revision
    if (changes.length > 0 || touched.size > 0) for (const { take } of this.#followers.keys()) take(changes, touched)
  }

  #makeRoom(): void {
    const logs = [...this.#kept.values(), ...this.#allMachines()].flatMap(({ log }) => log ?? [])
    makeRoom(logs, this.#options.mostPast ?? MOST_OF_ALL)
  }

  #forget(): void {
    const now = this.#options.clock.monotonic()
    const wanted = new Set([...this.#followers.values()].flatMap((keys) => [...keys.keys()]))
    const everything = this.#options.everything()
    const unread = [...this.#kept]
      .filter(([key, { name, audience }]) => {
        const isOfConsole = REMEMBERED.has(name.family) && audience === audienceOf(name, everything)
        return !wanted.has(key) && !isOfConsole
      })
      .toSorted(([, a], [, b]) => a.usedAt - b.usedAt)
    const pasts = unread.filter(([, k]) => REMEMBERED.has(k.name.family))
    const others = unread.filter(([, k]) => !REMEMBERED.has(k.name.family))
    const over = this.#kept.size - MOST_TOPICS
    const dropped = [
      ...pasts.slice(0, Math.max(0, pasts.length - MOST_PASTS)),
      ...others.filter(([, kept], at) => now - kept.usedAt > IDLE_MS || at < over),
    ]
    for (const [key] of dropped) this.#kept.delete(key)
    // A change of a dropped topic has no revision. A reader of it must not resume as if nothing had happened.
    if (dropped.length > 0) this.#revision++
  }
}

const topicKey = ({ topic, audience }: Pick<Kept, 'topic' | 'audience'>): string => `${topic}\n${audience}`
