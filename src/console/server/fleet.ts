// The state of all clusters as topics: computes what changed at most four times a second, remembers it, and hands it to those who follow.
import type { Clock, Timer } from '#lib/clock.ts'
import { messageOf } from '#lib/errors.ts'
import type { Logger } from '#lib/log.ts'
import type { Snapshot, Topic, TopicFamily } from '../protocol.ts'
import type { ClusterCache } from './cluster-cache.ts'
import { ClusterMachines } from './cluster-machines.ts'
import { TopicLog } from './topic-log.ts'
import { audienceOf, parseTopic, type Readable, snapshotOf, type TopicName } from './topics.ts'

const BATCH_MS = 250
/** Topics without readers for this long are forgotten, except those whose past is kept. */
const IDLE_MS = 60_000
/** Windows open, holds end and soaks pass without any change of an object. */
const TIME_PASSES_MS = 15_000
/** Snapshots in memory at once; beyond this the longest unused one is forgotten. */
const MOST_TOPICS = 200

/** The last hours of these can be shown again, with or without readers at the time. */
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

/** A machine of a cluster, as followers see it. */
export const machineKey = (cluster: string, name: string): string => `${cluster}\n${name}`

/** A change of one topic for one audience, as it is sent. */
export interface Changed {
  readonly revision: number
  readonly at: number
  readonly topic: Topic
  readonly audience: string
  /** Undefined: only a new snapshot helps. */
  readonly json: string | undefined
}

type Follower = (changes: readonly Changed[], machines: ReadonlySet<string>) => void

export interface FleetOptions {
  readonly clock: Clock
  readonly log: Logger
  /** Distinguishes this start of the server from others. */
  readonly start: string
  /** The rights of the console itself: what is remembered without readers is remembered for people with the same. */
  readonly everything: () => Readable
}

export class Fleet {
  readonly start: string
  readonly #options: FleetOptions
  readonly #clusters = new Map<string, ClusterCache>()
  readonly #machines = new Map<string, ClusterMachines>()
  readonly #kept = new Map<string, Kept>()
  readonly #followers = new Set<Follower>()
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
    this.#machines.set(cluster.name, new ClusterMachines(cluster, this.start))
  }

  /** Its topics end with the next pass. */
  remove(name: string): void {
    this.#clusters.delete(name)
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

  get revision(): string {
    return `${this.start}-${this.#revision}`
  }

  /** Called by the caches. */
  changed(cluster: string, topics: readonly TopicFamily[]): void {
    const families = new Set(topics)
    if (families.has('machines')) this.#machines.get(cluster)?.touch()
    for (const kept of this.#kept.values())
      if (families.has(kept.name.family) && (kept.name.of === 'Fleet' || kept.name.cluster === cluster))
        kept.isDirty = true
    this.#passSoon(BATCH_MS)
  }

  machineChanged(cluster: string, name: string): void {
    this.#machines.get(cluster)?.changed(name)
    this.#touched.add(machineKey(cluster, name))
  }

  /** Undefined: there is no such topic, or its object does not exist. */
  snapshot(name: TopicName, topic: Topic, readable: Readable): Snapshot | undefined {
    this.#pass()
    if (name.family === 'machines') return this.#machineSnapshot(name.cluster)
    return this.#keptOf(name, topic, readable)?.log.now
  }

  /** What changed since a revision, as it is sent; undefined where only a snapshot helps. */
  since(name: TopicName, topic: Topic, readable: Readable, revision: number): readonly string[] | undefined {
    this.#pass()
    return this.#logOf(name, topic, readable)?.since(revision)
  }

  past(
    name: TopicName,
    topic: Topic,
    readable: Readable,
    moment: number,
  ): { readonly begins: number; readonly snapshot: Snapshot } | undefined {
    this.#pass()
    const log = this.#logOf(name, topic, readable)
    return log && { begins: log.begins.at, snapshot: log.at(moment) }
  }

  follow(follower: Follower): () => void {
    this.#followers.add(follower)
    return () => this.#followers.delete(follower)
  }

  /** Begins to remember what is shown again later. */
  remember(): void {
    const readable = this.#options.everything()
    const names = [
      'home',
      'pipeline',
      'clusters',
      ...[...this.#clusters.keys()].flatMap((c) => [
        `machines/${encodeURIComponent(c)}`,
        `sets/${encodeURIComponent(c)}`,
      ]),
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

  #machineSnapshot(cluster: string): Snapshot | undefined {
    return this.#machines.get(cluster)?.snapshot(this.revision, this.#options.clock.now())
  }

  #logOf(name: TopicName, topic: Topic, readable: Readable): TopicLog | undefined {
    if (name.family !== 'machines') return this.#keptOf(name, topic, readable)?.log
    return this.#machines.get(name.cluster)?.logAt(this.revision, this.#options.clock.now())
  }

  #keptOf(name: TopicName, topic: Topic, readable: Readable): Kept | undefined {
    const audience = audienceOf(name, readable)
    const key = `${topic}\n${audience}`
    const known = this.#kept.get(key)
    const now = this.#options.clock.now()
    if (known !== undefined) {
      known.usedAt = this.#options.clock.monotonic()
      return known
    }
    const first = snapshotOf(name, topic, this.clusters, readable, { revision: this.revision, at: now })
    if (first === undefined) return undefined
    const kept: Kept = {
      name,
      topic,
      audience,
      readable,
      log: new TopicLog(this.start, first),
      usedAt: this.#options.clock.monotonic(),
      isDirty: false,
    }
    this.#kept.set(key, kept)
    this.#forget()
    return kept
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
      this.#passSoon(TIME_PASSES_MS)
    })
  }
  /** The timer is set for a batch, not only for the passing of time. */
  #isDue = false

  /** Everything that is dirty, under one new revision. */
  #pass(): void {
    const { clock, log } = this.#options
    this.#lastPass = clock.monotonic()
    const at = clock.now()
    const revision = this.#revision + 1
    const named = `${this.start}-${revision}`
    const changes: Changed[] = []
    for (const machines of this.#machines.values()) {
      const taken = machines.takeChanges(named, revision, at)
      if (taken === 'Nothing') continue
      const json = taken === 'Renewed' ? undefined : taken.json
      changes.push({ revision, at, topic: machines.topic, audience: '', json })
    }
    for (const kept of this.#kept.values()) {
      if (!kept.isDirty) continue
      kept.isDirty = false
      try {
        const after = snapshotOf(kept.name, kept.topic, this.clusters, kept.readable, { revision: named, at })
        if (after === undefined) {
          this.#kept.delete(`${kept.topic}\n${kept.audience}`)
          changes.push({ revision, at, topic: kept.topic, audience: kept.audience, json: undefined })
          continue
        }
        const json = kept.log.putRows(after)
        if (json !== undefined) changes.push({ revision, at, topic: kept.topic, audience: kept.audience, json })
      } catch (e) {
        log.warn('cannot draw a topic', { topic: kept.topic, error: messageOf(e) })
      }
    }
    const touched = this.#touched
    this.#touched = new Set()
    if (changes.length > 0) this.#revision = revision
    if (changes.length > 0 || touched.size > 0) for (const follower of this.#followers) follower(changes, touched)
  }

  #forget(): void {
    const now = this.#options.clock.monotonic()
    const idle = [...this.#kept]
      .filter(([, k]) => !REMEMBERED.has(k.name.family))
      .toSorted(([, a], [, b]) => a.usedAt - b.usedAt)
    const over = this.#kept.size - MOST_TOPICS
    idle.forEach(([key, kept], at) => {
      if (now - kept.usedAt > IDLE_MS || at < over) this.#kept.delete(key)
    })
  }
}
