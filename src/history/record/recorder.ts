// Takes what the watches deliver, and writes what changed: in order, in batches, within bounds. What it could not hear or write becomes a gap.
import type { KubeObject } from '#api/schema/object.ts'
import type { Clock, Timer } from '#lib/clock.ts'
import { defined } from '#lib/defined.ts'
import { messageOf } from '#lib/errors.ts'
import type { Logger } from '#lib/log.ts'
import { type DeedLine, chained } from '../deeds/chain.ts'
import { type Deed, deedsOf } from '../deeds/deeds.ts'
import { objectFrom } from '../facts/facts.ts'
import type { Shape } from '../facts/shapes.ts'
import { type Packed, NOT_SAID, NO_FACTS, transitions, unpacked } from '../facts/transition.ts'
import type { Gap, HistoryWriter, PendingRow } from '../store/writer.ts'
import type { HistoryBounds } from './bounds.ts'
import type { Held } from './held.ts'
import type { HistoryMetrics } from './metrics.ts'

/** A row is durable after this at the latest, on a disk that works. */
const FLUSH_MS = 250
/** With nothing to write, this often it is written down that nothing happened. */
const ALIVE_MS = 5_000
/** A failed write is tried again after this, doubled up to the most. */
const RETRY_MS = 1_000
const MAX_RETRY_MS = 30_000
/** One transaction: longer ones would keep the event loop from answering. */
const MAX_BATCH = 4_000
/** The wall clock and the stopwatch may differ by this between two looks. */
const CLOCK_STEP_MS = 5_000
/** A clock that went back further makes no sense with what is recorded. */
export const MAX_BACK_MS = 3_600_000
const HOUR_MS = 3_600_000
const DEED_KINDS_AT_BEGINNING: ReadonlySet<string> = new Set([
  'OperationalHold',
  'Approval',
  'Release',
  'MaintenanceEvent',
])

export interface RecorderOptions {
  readonly cluster: string
  readonly writer: HistoryWriter
  readonly clock: Clock
  readonly log: Logger
  readonly bounds: HistoryBounds
  readonly metrics: HistoryMetrics
  /** Once per hour, after a flush. */
  readonly onHour?: () => void
  /** The clock went back so far that a new file is needed. */
  readonly onTimeTravel?: () => void
}

/** An object that changed too often in this hour. */
interface Flapping {
  readonly since: number
  latest: Packed
  changes: number
}

export class Recorder {
  readonly #o: RecorderOptions
  #rows: PendingRow[] = []
  readonly #gaps: Gap[] = []
  readonly #deeds: DeedLine[] = []
  /** Subjects with rows that are not durable yet. */
  readonly #pending = new Set<number>()
  readonly #changes = new Map<number, number>()
  readonly #flapping = new Map<number, Flapping>()
  #hour: number
  #lastDeed: Pick<DeedLine, 'n' | 'digest'>
  /** The time of the last row: heard never goes back. */
  #heard: number
  #wall: number
  #mono: number
  #writtenAt: number
  #failures = 0
  #retryAt = 0
  /** Since when the watches wait for the disk. */
  #waitsSince: number | undefined
  #waiters: (() => void)[] = []
  #timer: Timer | undefined
  #isStopped = false
  #owesHour = false
  #isFromFuture = false
  /** No history before: objects that exist already were not created now. */
  readonly #isBeginning: boolean

  constructor(options: RecorderOptions) {
    this.#o = options
    const { writer, clock, cluster } = options
    this.#wall = Math.floor(clock.now())
    this.#mono = clock.monotonic()
    this.#writtenAt = this.#mono
    this.#heard = Math.max(writer.lastHeard(), this.#wall)
    this.#hour = Math.floor(this.#wall / HOUR_MS)
    this.#lastDeed = writer.lastDeed(cluster)
    this.#isBeginning = writer.alive() === undefined
    if (this.#heard > this.#wall) this.gap({ starts: this.#wall, ends: this.#heard, why: 'ClockWentBack' })
  }

  start(): void {
    const again = (): void => {
      if (this.#isStopped) return
      this.#tick()
      this.#timer = this.#o.clock.after(FLUSH_MS, again)
    }
    this.#timer = this.#o.clock.after(FLUSH_MS, again)
  }

  /** Rows that wait for the disk. */
  get waiting(): number {
    return this.#rows.length
  }

  /** A change as a watch delivered it. The promise, if any, resolves once there is room for more. */
  changed(shape: Shape, before: Held | undefined, after: Held | undefined): Promise<void> | undefined {
    const object = after ?? before
    if (object === undefined) return undefined
    const subject = this.#subjectOf(shape, object)
    const isNew = before === undefined
    // Its last rows may be waiting: what is in the file is then older than what was recorded.
    if (isNew && this.#pending.has(subject)) this.#flush()
    const old = before?.packed ?? this.#o.writer.openOf(subject)
    const now = after?.packed ?? NO_FACTS
    this.#note({ subject, old, now, isNew })
    const was = before?.source ?? (isNew && old.length > 0 ? this.#rebuilt(shape, object, old) : undefined)
    this.#addDeeds(was, after?.source)
    if (after === undefined) this.#o.writer.names.forget({ kind: shape.type.kind, uid: object.metadata.uid ?? '' })
    return this.#room()
  }

  /** A kind was listed for the first time since the start: objects that are recorded as existing and are not there were deleted meanwhile. */
  listed(shape: Shape, uids: ReadonlySet<string>): void {
    this.#flush()
    for (const { id, uid } of this.#o.writer.openSubjects(shape.type.kind))
      if (!uids.has(uid)) this.#note({ subject: id, old: this.#o.writer.openOf(id), now: NO_FACTS, isNew: true })
  }

  gap(gap: Gap): void {
    // A gap is never shorter than what it hides.
    const whole = {
      ...gap,
      starts: Math.floor(gap.starts),
      ends: gap.ends === undefined ? undefined : Math.ceil(gap.ends),
    }
    this.#gaps.push(whole)
    this.#o.metrics.gap(gap.why)
    this.#o.log.warn('not recorded', {
      reason: gap.why,
      ...defined({ kind: gap.kind }),
      from: gap.starts,
      to: gap.ends,
    })
  }

  now(): number {
    return this.#heardNow()
  }

  stop(): void {
    this.#isStopped = true
    this.#timer?.cancel()
    this.#endFlapping()
    this.#flush(true)
  }

  #subjectOf({ type }: Shape, { metadata }: KubeObject): number {
    const { namespace = '', name = '', uid = '' } = metadata
    return this.#o.writer.names.subject({ kind: type.kind, namespace, name, uid })
  }

  /** Never goes back: the order of rows is the order in which they were heard. */
  #heardNow(): number {
    this.#heard = Math.max(this.#heard, Math.floor(this.#o.clock.now()))
    return this.#heard
  }

  #note({
    subject,
    old,
    now,
    isNew,
  }: {
    readonly subject: number
    readonly old: Packed
    readonly now: Packed
    readonly isNew: boolean
  }): void {
    const changes = transitions(old, now)
    if (changes.length === 0) return
    const heard = this.#heardNow()
    const flapping = this.#flapping.get(subject)
    if (flapping !== undefined) {
      flapping.latest = now
      flapping.changes += changes.length
      return
    }
    const count = (this.#changes.get(subject) ?? 0) + (isNew ? 0 : changes.length)
    this.#changes.set(subject, count)
    if (count > this.#o.bounds.rowsPerHour) {
      this.#flapping.set(subject, { since: heard, latest: now, changes: changes.length })
      return
    }
    for (const { topic, value, said } of changes) this.#rows.push({ subject, topic, value, said, heard })
    this.#pending.add(subject)
  }

  /** What the file knows of it, as an object. */
  #rebuilt(shape: Shape, { metadata }: KubeObject, old: Packed): KubeObject | undefined {
    if (shape.hasManyMessages === true) return undefined
    const { writer } = this.#o
    const facts = unpacked(old).map(({ topic, value, said }) => ({
      topic: writer.textOf('topic', topic),
      value: writer.textOf('value', value),
      said: said === NOT_SAID ? undefined : said,
    }))
    return objectFrom(
      { namespace: metadata.namespace, name: metadata.name ?? '', uid: metadata.uid ?? '', facts },
      shape,
    )
  }

  #addDeeds(before: KubeObject | undefined, after: KubeObject | undefined): void {
    const kind = (after ?? before)?.kind ?? ''
    if (this.#isBeginning && before === undefined && !DEED_KINDS_AT_BEGINNING.has(kind)) return
    for (const deed of deedsOf(before, after)) this.#addDeed(deed)
  }

  #addDeed(deed: Deed): void {
    const line = chained(deed, {
      n: this.#lastDeed.n + 1,
      cluster: this.#o.cluster,
      heard: this.#heardNow(),
      prev: this.#lastDeed.digest,
    })
    this.#lastDeed = line
    this.#deeds.push(line)
  }

  #room(): Promise<void> | undefined {
    if (this.#rows.length < this.#o.bounds.waiting) return undefined
    if (this.#flush() && this.#rows.length < this.#o.bounds.waiting) return undefined
    this.#waitsSince ??= this.#heardNow()
    return new Promise((resolve) => this.#waiters.push(resolve))
  }

  #tick(): void {
    const { clock, onHour, onTimeTravel } = this.#o
    const [wall, mono] = [Math.floor(clock.now()), clock.monotonic()]
    const step = wall - this.#wall - (mono - this.#mono)
    if (wall < this.#heard - MAX_BACK_MS) {
      if (!this.#isFromFuture) onTimeTravel?.()
      this.#isFromFuture = true
      return
    }
    if (step < -CLOCK_STEP_MS) this.gap({ starts: wall, ends: this.#heard, why: 'ClockWentBack' })
    else if (step > CLOCK_STEP_MS || mono - this.#mono > ALIVE_MS + CLOCK_STEP_MS)
      this.gap({ starts: this.#wall, ends: wall, why: 'ClockJumped' })
    this.#wall = wall
    this.#mono = mono
    const hour = Math.floor(wall / HOUR_MS)
    const isNewHour = hour !== this.#hour
    if (isNewHour) {
      this.#hour = hour
      this.#endFlapping()
      this.#changes.clear()
    }
    const wasWaiting = this.#waiters.length > 0
    const isDue = this.#rows.length + this.#gaps.length + this.#deeds.length > 0 || mono - this.#writtenAt >= ALIVE_MS
    if (isDue && mono >= this.#retryAt) this.#flush()
    // What waits refers to texts of the file.
    this.#owesHour ||= isNewHour
    if (!this.#owesHour || wasWaiting || this.#rows.length > 0) return
    this.#owesHour = false
    onHour?.()
  }

  #endFlapping(): void {
    const now = this.#heardNow()
    if (this.#flapping.size > 0) this.#flush()
    for (const [subject, { since, latest, changes }] of this.#flapping) {
      this.gap({ starts: since, ends: now, why: 'TooManyChanges', subject, details: `${changes} changes` })
      for (const { topic, value, said } of transitions(this.#o.writer.openOf(subject), latest))
        this.#rows.push({ subject, topic, value, said, heard: now })
    }
    this.#flapping.clear()
  }

  /** True if everything is durable. Each transaction is short; what fails stays, in order. */
  #flush(isLast = false): boolean {
    const { writer, clock, log, metrics } = this.#o
    try {
      do {
        const rows = this.#rows.slice(0, MAX_BATCH)
        const isAll = rows.length === this.#rows.length
        // Deeds and gaps are few, and go with the last rows.
        writer.write({ rows, gaps: isAll ? this.#gaps : [], deeds: isAll ? this.#deeds : [], now: this.#heardNow() })
        this.#rows = this.#rows.slice(rows.length)
        metrics.wrote(rows.length)
      } while (this.#rows.length > 0)
      this.#gaps.length = 0
      this.#deeds.length = 0
      this.#pending.clear()
    } catch (error) {
      this.#failures++
      this.#retryAt = clock.monotonic() + Math.min(RETRY_MS * 2 ** (this.#failures - 1), MAX_RETRY_MS)
      metrics.failed()
      if (this.#failures === 1 || isLast)
        log.error('cannot write the history: what happens waits, and the watches with it', {
          error: messageOf(error),
          waiting: this.#rows.length,
        })
      return false
    }
    if (this.#failures > 0) log.info('the history is written again', { failures: this.#failures })
    this.#failures = 0
    this.#retryAt = 0
    this.#writtenAt = clock.monotonic()
    metrics.waiting(0)
    this.#goOn()
    return true
  }

  /** The watches waited: what happened meanwhile is heard late. */
  #goOn(): void {
    if (this.#waitsSince !== undefined) this.gap({ starts: this.#waitsSince, ends: this.#heardNow(), why: 'QueueFull' })
    this.#waitsSince = undefined
    const waiters = this.#waiters
    this.#waiters = []
    for (const go of waiters) go()
  }
}
