// One topic's memory: its first snapshot, every change since, and its current state. Streams resume from it and the past is shown from it. Bounded by bytes and
// age.
import { zstdCompressSync, zstdDecompressSync } from 'node:zlib'
import { appliedAll, isMachines, rowsDelta } from '../delta.ts'
import type { Delta, Snapshot, Topic } from '../protocol.ts'

/** A post-mortem covers a day. */
const PAST_MS = 24 * 3_600_000
/** Characters of deltas per topic; older ones are merged into its first snapshot. */
const MOST_CHARACTERS = 4_000_000
/** For all topics together: hundreds of clusters must fit into one pod's memory. */
export const MOST_OF_ALL = 64_000_000

export interface Entry {
  readonly revision: number
  readonly at: number
  /** As sent: serialized once, whatever the number of readers. */
  readonly json: string
}

/** The state at the start of a log. */
interface Base {
  readonly revision: string
  readonly at: number
  read(): Snapshot
}

/** Machines are stored compressed at a tenth of the size, and decompressed only for requests of the past. */
function baseOf(snapshot: Snapshot): Base {
  const { revision, at } = snapshot
  if (!isMachines(snapshot)) return { revision, at, read: () => snapshot }
  const packed = zstdCompressSync(JSON.stringify(snapshot))
  return { revision, at, read: () => JSON.parse(zstdDecompressSync(packed).toString()) as Snapshot }
}

export class TopicLog {
  readonly topic: Topic
  readonly #start: string
  readonly #most: number
  #base: Base
  /** Undefined for topics whose owner keeps the state, such as the machine table. */
  #now: Snapshot | undefined
  #entries: Entry[] = []
  #characters = 0

  constructor(start: string, first: Snapshot, most = MOST_CHARACTERS) {
    this.topic = first.topic
    this.#start = start
    this.#most = most
    this.#base = baseOf(first)
    this.#now = isMachines(first) ? undefined : first
  }

  /** Revision number at the start of the log. */
  get begins(): { readonly revision: number; readonly at: number } {
    return { revision: numberOf(this.#base.revision), at: this.#base.at }
  }

  /** Characters of the kept changes. */
  get characters(): number {
    return this.#characters
  }

  get now(): Snapshot | undefined {
    return this.#now
  }

  /** The change to a new snapshot of rows, recorded and ready to send; undefined if nothing changed. */
  putRows(after: Snapshot): string | undefined {
    if (this.#now === undefined || isMachines(this.#now) || isMachines(after)) return undefined
    const delta = rowsDelta(this.#now, after)
    if (delta === undefined) return undefined
    this.#now = after
    return this.put(delta, numberOf(after.revision), after.at)
  }

  put(delta: Delta, revision: number, at: number): string {
    const json = JSON.stringify(delta)
    this.#setBack(at)
    this.#entries.push({ revision, at, json })
    this.#characters += json.length
    this.#forget(at)
    return json
  }

  /** After a clock moved back, caps the times of earlier changes: each state is built from all changes before it. */
  #setBack(at: number): void {
    if (this.#base.at > at) this.#base = { ...this.#base, at }
    if ((this.#entries.at(-1)?.at ?? at) > at) this.#entries = this.#entries.map((e) => (e.at > at ? { ...e, at } : e))
  }

  /** Nothing before this snapshot can be resumed from. */
  restart(first: Snapshot): void {
    this.#base = baseOf(first)
    this.#now = isMachines(first) ? undefined : first
    this.#entries = []
    this.#characters = 0
  }

  /** Undefined if the log does not reach back that far. */
  since(revision: number): readonly Entry[] | undefined {
    if (revision < numberOf(this.#base.revision)) return undefined
    return this.#entries.filter((e) => e.revision > revision)
  }

  /** The state at that moment, or the oldest kept one. */
  at(moment: number): Snapshot {
    return this.#after(this.#entries.filter((e) => e.at <= moment))
  }

  #after(entries: readonly Entry[]): Snapshot {
    const last = entries.at(-1)
    const base = this.#base.read()
    if (last === undefined) return base
    return appliedAll(base, deltasOf(entries), this.#named(last.revision), last.at)
  }

  #named(revision: number): string {
    return `${this.#start}-${revision}`
  }

  /** Drops half at once, so that 10,000 machines are not copied for each later delta. */
  #forget(now: number): void {
    const isOld = (this.#entries[0]?.at ?? now) < now - PAST_MS
    if (this.#characters <= this.#most && !isOld) return
    this.#forgetTo(this.#characters > this.#most ? this.#most / 2 : this.#most, now - PAST_MS)
  }

  forgetHalf(): void {
    this.#forgetTo(this.#characters / 2, -Infinity)
  }

  #forgetTo(characters: number, oldest: number): void {
    let dropped = 0
    for (const { json, at } of this.#entries) {
      if (this.#characters <= characters && at >= oldest) break
      this.#characters -= json.length
      dropped++
    }
    this.#base = baseOf(this.#after(this.#entries.slice(0, dropped)))
    this.#entries = this.#entries.slice(dropped)
  }
}

/** The largest log gives way, so that a busy cluster does not shorten the others' past. */
export function makeRoom(logs: readonly TopicLog[], most: number): void {
  let all = logs.reduce((sum, { characters }) => sum + characters, 0)
  while (all > most) {
    const largest = logs.reduce((a, b) => (b.characters > a.characters ? b : a))
    const before = largest.characters
    largest.forgetHalf()
    all += largest.characters - before
  }
}

function* deltasOf(entries: readonly Entry[]): Generator<Delta> {
  for (const { json } of entries) yield JSON.parse(json) as Delta
}

/** `<start>.<view>-<number>`: revisions of different rights are not comparable, like those of different starts. */
export const inView = (revision: string, view: string): string => revision.replace(/-(?=\d*$)/, `.${view}-`)

/** The number in `<start>-<number>`. */
export const numberOf = (revision: string): number => Number(revision.slice(revision.lastIndexOf('-') + 1))
