// Records changes from the watches in order, in batches, and within bounds. Changes that it could not observe or write become a gap.
import type { KubeObject } from '#api/schema/object.ts'
import type { Clock, Timer } from '#lib/clock.ts'
import { defined } from '#lib/defined.ts'
import { messageOf } from '#lib/errors.ts'
import type { Logger } from '#lib/log.ts'
import { type DeedLine, chained } from '../deeds/chain.ts'
import { type ChangedField, changedFieldsDeeds } from '../deeds/changed-fields.ts'
import { type Deed, deedsOf, inGap } from '../deeds/deeds.ts'
import { objectFrom } from '../facts/facts.ts'
import type { Shape } from '../facts/shapes.ts'
import { type Packed, NOT_REPORTED, NO_FACTS, transitions, unpacked } from '../facts/transition.ts'
import type { Gap, HistoryWriter, PendingRow } from '../store/writer.ts'
import type { HistoryBounds } from './bounds.ts'
import type { Held } from './held.ts'
import type { HistoryMetrics } from './metrics.ts'

/** A row is durable within this time if the disk works. */
const FLUSH_MS = 250
/** How often an idle recorder records that it is running. */
const ALIVE_MS = 5_000
/** First delay after a failed write; doubles up to the maximum. */
const RETRY_MS = 1_000
const MAX_RETRY_MS = 30_000
/** Rows per transaction: more would block the event loop. */
const MAX_BATCH = 4_000
/** How far the wall clock and the monotonic clock may diverge between two checks. */
const CLOCK_STEP_MS = 5_000
/** If the clock went back further, the recorded times are unusable. */
export const MAX_BACK_MS = 3_600_000
const HOUR_MS = 3_600_000
const GAP_KEYS = ['why', 'kind', 'subject', 'details'] as const
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
  /** The clock went back so far that the recorder needs a new file. */
  readonly onTimeTravel?: () => void
  /** After writes. */
  readonly onWritten?: () => void
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
  /** Time of the last row. The time of observation never goes back. */
  #observed: number
  #wall: number
  #mono: number
  #writtenAt: number
  #failures = 0
  #retryAt = 0
  /** When the watches started to wait for the disk. */
  #waitsSince: number | undefined
  #waiters: (() => void)[] = []
  #timer: Timer | undefined
  #isStopped = false
  #owesHour = false
  #isFromFuture = false
  /** The history is new: objects in the first list of their kind were not created now. */
  readonly #isBeginning: boolean
  /** When the recorder before last wrote. */
  readonly #unseenSince: number | undefined
  readonly #listed = new Set<string>()

  constructor(options: RecorderOptions) {
    this.#o = options
    const { writer, clock, cluster } = options
    this.#wall = Math.floor(clock.now())
    this.#mono = clock.monotonic()
    this.#writtenAt = this.#mono
    this.#observed = Math.max(writer.lastObserved(), this.#wall)
    this.#hour = Math.floor(this.#wall / HOUR_MS)
    this.#lastDeed = writer.lastDeed(cluster)
    this.#unseenSince = writer.alive()
    this.#isBeginning = this.#unseenSince === undefined
    if (this.#observed > this.#wall) this.gap({ starts: this.#wall, ends: this.#observed, why: 'ClockWentBack' })
  }

  start(): void {
    const again = (): void => {
      if (this.#isStopped) return
      this.#tick()
      this.#timer = this.#o.clock.after(FLUSH_MS, again)
    }
    this.#timer = this.#o.clock.after(FLUSH_MS, again)
  }

  /** Rows and lines waiting for the disk. */
  get waiting(): number {
    return this.#rows.length + this.#deeds.length + this.#gaps.length
  }

  /** Records a change from a watch. The promise, if any, resolves when there is room for more. */
  changed(shape: Shape, before: Held | undefined, after: Held | undefined): Promise<void> | undefined {
    const object = after ?? before
    if (object === undefined) return undefined
    const subject = this.#subjectOf(shape, object)
    const isNew = before === undefined
    // Its last rows may still be pending; then the file is older than the recorder's memory.
    if (isNew && this.#pending.has(subject)) this.#flush()
    const old = before?.packed ?? this.#o.writer.openOf(subject)
    const now = after?.packed ?? NO_FACTS
    this.#note({ subject, old, now, isNew })
    const isRecorded = isNew && old.length > 0
    const was = before?.source ?? (isRecorded ? this.#rebuilt(shape, object, old) : undefined)
    const notBefore = isRecorded ? this.#unseenSince : undefined
    // After a restart, an object that was recorded before is not a new one.
    if (was !== undefined || !isRecorded) this.#addDeeds(was, after?.source, notBefore)
    if (shape.hasManyMessages === true && after !== undefined && old.length > 0)
      this.#addFieldDeeds(after.source, old, now, notBefore)
    if (after === undefined) this.#o.writer.names.forget({ kind: shape.type.kind, uid: object.metadata.uid ?? '' })
    return this.#room()
  }

  /** After the first list of a kind: recorded objects that are not in the list were deleted meanwhile. */
  listed(shape: Shape, uids: ReadonlySet<string>): void {
    this.#flush()
    this.#listed.add(shape.type.kind)
    for (const { id, uid, name, namespace } of this.#o.writer.openSubjects(shape.type.kind)) {
      if (uids.has(uid)) continue
      const old = this.#o.writer.openOf(id)
      this.#note({ subject: id, old, now: NO_FACTS, isNew: true })
      const metadata = { name, uid, ...(namespace !== '' && { namespace }) }
      const named = { apiVersion: '', kind: shape.type.kind, metadata }
      this.#addDeeds(this.#rebuilt(shape, named, old) ?? named, undefined, this.#unseenSince)
    }
  }

  gap(gap: Gap): void {
    // A gap must cover everything that was missed.
    const whole = {
      ...gap,
      starts: Math.floor(gap.starts),
      ends: gap.ends === undefined ? undefined : Math.ceil(gap.ends),
    }
    this.#o.metrics.gap(gap.why)
    if (this.#extendsLast(whole)) return
    this.#gaps.push(whole)
    this.#o.log.warn('not recorded', {
      reason: gap.why,
      ...defined({ kind: gap.kind }),
      from: gap.starts,
      to: gap.ends,
    })
  }

  /** A cluster whose every object cannot be recorded has one gap until it is written, not one for each. */
  #extendsLast({ ends, ...gap }: Gap): boolean {
    const last = this.#gaps.at(-1)
    const isSame = last !== undefined && GAP_KEYS.every((key) => last[key] === gap[key]) && last.starts <= gap.starts
    if (!isSame || last.ends === undefined || ends === undefined || gap.starts - last.ends > FLUSH_MS) return false
    this.#gaps[this.#gaps.length - 1] = { ...last, ends: Math.max(last.ends, ends) }
    return true
  }

  now(): number {
    return this.#observedNow()
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

  /** Never goes back, so that rows stay in the order of observation. */
  #observedNow(): number {
    this.#observed = Math.max(this.#observed, Math.floor(this.#o.clock.now()))
    return this.#observed
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
    const observed = this.#observedNow()
    const flapping = this.#flapping.get(subject)
    if (flapping !== undefined) {
      flapping.latest = now
      flapping.changes += changes.length
      return
    }
    const count = (this.#changes.get(subject) ?? 0) + (isNew ? 0 : changes.length)
    this.#changes.set(subject, count)
    if (count > this.#o.bounds.rowsPerHour) {
      this.#flapping.set(subject, { since: observed, latest: now, changes: changes.length })
      return
    }
    for (const { topic, value, reported } of changes) this.#rows.push({ subject, topic, value, reported, observed })
    this.#pending.add(subject)
  }

  /** The object as recorded in the file; undefined where the file does not have enough of it for deeds. */
  #rebuilt(shape: Shape, { metadata }: KubeObject, old: Packed): KubeObject | undefined {
    if (shape.hasManyMessages === true) return undefined
    const { writer } = this.#o
    const facts = unpacked(old).map(({ topic, value, reported }) => ({
      topic: writer.textOf('topic', topic),
      value: writer.textOf('value', value),
      reported: reported === NOT_REPORTED ? undefined : reported,
    }))
    return objectFrom(
      { namespace: metadata.namespace, name: metadata.name ?? '', uid: metadata.uid ?? '', facts },
      shape,
    )
  }

  #addDeeds(before: KubeObject | undefined, after: KubeObject | undefined, notBefore: number | undefined): void {
    const kind = (after ?? before)?.kind ?? ''
    const isFirstList = this.#isBeginning && !this.#listed.has(kind)
    if (isFirstList && before === undefined && !DEED_KINDS_AT_BEGINNING.has(kind)) return
    for (const deed of deedsOf(before, after)) this.#addDeed(notBefore === undefined ? deed : inGap(deed, notBefore))
  }

  #addFieldDeeds(object: KubeObject, old: Packed, now: Packed, notBefore: number | undefined): void {
    const { names } = this.#o.writer
    const before = new Map(unpacked(old).map(({ topic, value }) => [topic, value]))
    const textOf = (value: number | undefined) => (value === undefined ? undefined : names.valueText(value))
    const fields = transitions(old, now).flatMap(({ topic, value }): ChangedField[] => {
      const path = names.declaredPath(topic)
      return path === undefined || value === before.get(topic)
        ? []
        : [{ path, before: textOf(before.get(topic)), after: textOf(value) }]
    })
    if (fields.length === 0) return
    for (const deed of changedFieldsDeeds({ object, fields, notBefore })) this.#addDeed(deed)
  }

  #addDeed(deed: Deed): void {
    const line = chained(deed, {
      n: this.#lastDeed.n + 1,
      cluster: this.#o.cluster,
      observed: this.#observedNow(),
      prev: this.#lastDeed.digest,
    })
    this.#lastDeed = line
    this.#deeds.push(line)
  }

  #room(): Promise<void> | undefined {
    if (this.waiting < this.#o.bounds.waiting) return undefined
    if (this.#flush() && this.waiting < this.#o.bounds.waiting) return undefined
    this.#waitsSince ??= this.#observedNow()
    return new Promise((resolve) => this.#waiters.push(resolve))
  }

  #tick(): void {
    const { clock, onHour, onTimeTravel } = this.#o
    const [wall, mono] = [Math.floor(clock.now()), clock.monotonic()]
    const step = wall - this.#wall - (mono - this.#mono)
    if (wall < this.#observed - MAX_BACK_MS) {
      if (!this.#isFromFuture) onTimeTravel?.()
      this.#isFromFuture = true
      return
    }
    if (step < -CLOCK_STEP_MS) this.gap({ starts: wall, ends: this.#observed, why: 'ClockWentBack' })
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
    const isDue = this.waiting > 0 || mono - this.#writtenAt >= ALIVE_MS
    if (isDue && mono >= this.#retryAt && this.#flush()) this.#o.onWritten?.()
    // Pending rows refer to texts in the file.
    this.#owesHour ||= isNewHour
    if (!this.#owesHour || wasWaiting || this.#rows.length > 0) return
    this.#owesHour = false
    onHour?.()
  }

  #endFlapping(): void {
    const now = this.#observedNow()
    if (this.#flapping.size > 0) this.#flush()
    for (const [subject, { since, latest, changes }] of this.#flapping) {
      this.gap({ starts: since, ends: now, why: 'TooManyChanges', subject, details: `${changes} changes` })
      for (const { topic, value, reported } of transitions(this.#o.writer.openOf(subject), latest))
        this.#rows.push({ subject, topic, value, reported, observed: now })
    }
    this.#flapping.clear()
  }

  /** Returns true if everything is durable. Transactions are short; rows that fail stay pending in order. */
  #flush(isLast = false): boolean {
    const { writer, clock, log, metrics } = this.#o
    try {
      do {
        const rows = this.#rows.slice(0, MAX_BATCH)
        const isAll = rows.length === this.#rows.length
        // The few deeds and gaps are written with the last rows.
        writer.write({ rows, gaps: isAll ? this.#gaps : [], deeds: isAll ? this.#deeds : [], now: this.#observedNow() })
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

  /** The watches waited, so changes in this period were observed late. */
  #goOn(): void {
    if (this.#waitsSince !== undefined)
      this.gap({ starts: this.#waitsSince, ends: this.#observedNow(), why: 'QueueFull' })
    this.#waitsSince = undefined
    const waiters = this.#waiters
    this.#waiters = []
    for (const go of waiters) go()
  }
}
