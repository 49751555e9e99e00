// The part that records one cluster: lock, file, watches and recorder. Starts a new file if the old one became unusable.
import { join } from 'node:path'
import type { Clock, Timer } from '#lib/clock.ts'
import { KubeNodeError, messageOf } from '#lib/errors.ts'
import { type FileLock, takeFileLock } from '#lib/file-lock.ts'
import type { Logger } from '#lib/log.ts'
import { makePrivateFolder } from '#lib/private-folder.ts'
import type { Random } from '#lib/random.ts'
import type { KubeClient } from '#kube/client.ts'
import type { Part } from '#runtime/manager.ts'
import type { RuntimeMetrics } from '#runtime/metrics.ts'
import { historyErrors } from '../history-errors.ts'
import { bytesOf, dropOldestDay, dropOldestDeeds } from '../store/drop-days.ts'
import { asideOf, historyFile, openForRecording } from '../store/file.ts'
import { HistoryWriter } from '../store/writer.ts'
import type { HistoryBounds } from './bounds.ts'
import { type HistoryMetrics, createHistoryMetrics } from './metrics.ts'
import { MAX_BACK_MS, Recorder } from './recorder.ts'
import { Watches } from './watches.ts'

/** How long a previous recorder of the same folder may take to stop. */
const LOCK_WAIT_MS = 5_000
/** Of the bound: the oldest days are dropped hour by hour, and more than this is written only by a cluster that fills the disk of all. */
const FULL_SHARE = 1.25
/** How long nothing is recorded of such a cluster. */
const REST_MS = 3_600_000

export interface HistoryPartOptions {
  readonly folder: string
  readonly cluster: string
  readonly client: KubeClient
  readonly clock: Clock
  readonly random: Random
  readonly log: Logger
  readonly metrics: Pick<RuntimeMetrics, 'registry'>
  readonly bounds: HistoryBounds
}

interface Running {
  readonly db: ReturnType<typeof openForRecording>['db']
  readonly writer: HistoryWriter
  readonly recorder: Recorder
  readonly watches: Watches
}

export class HistoryPart implements Part {
  readonly name = 'recorder'
  readonly #o: HistoryPartOptions
  readonly #metrics: HistoryMetrics
  #lock: FileLock | undefined
  #running: Running | undefined
  #renewing: Promise<void> = Promise.resolve()
  /** Until the recorder begins again. */
  #resting: Timer | undefined
  #isStopped = false

  constructor(options: HistoryPartOptions) {
    this.#o = options
    this.#metrics = createHistoryMetrics(options.metrics)
  }

  start(): void {
    const { folder, cluster } = this.#o
    makePrivateFolder(folder)
    this.#lock = takeFileLock(join(folder, `${cluster}.lock`), LOCK_WAIT_MS)
    if (this.#lock === undefined) throw new KubeNodeError(historyErrors.KN17002({ folder }), { retry: 'later' })
    this.#begin()
  }

  #begin(): void {
    const { folder, cluster, client, clock, random, log, bounds } = this.#o
    const now = clock.now()
    const file = openForRecording(folder, cluster, now)
    let { db } = file
    let writer = new HistoryWriter(db)
    let aliveAt = writer.alive()
    if (file.setAside !== undefined)
      log.error('the history was damaged: it is set aside, and a new one begins', file.setAside)
    if (writer.lastObserved() > now + MAX_BACK_MS) {
      writer.close()
      const aside = asideOf(historyFile(folder, cluster), now)
      log.error('the history is from the future of this clock: it is set aside, and a new one begins', { file: aside })
      db = openForRecording(folder, cluster, now).db
      writer = new HistoryWriter(db)
      aliveAt = undefined
    }
    writer.markImported(false)
    const recorder = new Recorder({
      cluster,
      writer,
      clock,
      log,
      bounds,
      metrics: this.#metrics,
      onHour: () => this.#keepWithin(),
      onTimeTravel: () => this.#renew(() => this.#beginAnew()),
      onWritten: () => this.#restIfFull(),
    })
    if (file.setAside !== undefined)
      recorder.gap({ starts: 0, ends: now, why: 'FileDamaged', details: file.setAside.why.slice(0, 200) })
    const watches = new Watches({
      client,
      clock,
      random,
      log,
      recorder,
      names: writer.names,
      aliveAt,
      mostKept: bounds.kept,
      onTooMuch: () => this.#rest('its objects do not fit into memory'),
    })
    this.#running = { db, writer, recorder, watches }
    this.#metrics.bytes(bytesOf(db))
    recorder.start()
    watches.start()
    this.#restIfFull()
  }

  #restIfFull(): void {
    const { bounds } = this.#o
    const { db } = this.#running ?? {}
    if (db === undefined || bytesOf(db) <= bounds.maxBytes * FULL_SHARE) return
    this.#keepWithin()
    if (bytesOf(db) > bounds.maxBytes * FULL_SHARE) this.#rest('its file would be larger than it may be')
  }

  /** What is not recorded meanwhile is a gap, as without a recorder. */
  #rest(why: string): void {
    const { clock, log } = this.#o
    if (this.#isStopped || this.#resting !== undefined) return
    log.error('the history of this cluster rests: nothing is recorded of it for an hour', { why })
    this.#resting = clock.after(REST_MS, () => {
      this.#resting = undefined
      this.#renew(() => this.#beginAgain())
    })
    this.#renew(() => this.#end())
  }

  #beginAgain(): void {
    try {
      this.#begin()
    } catch (error) {
      this.#rest(messageOf(error))
    }
  }

  #renew(step: () => Promise<void> | void): void {
    this.#renewing = this.#renewing.then(() => (this.#isStopped ? undefined : step()))
  }

  /** Hourly: drops days beyond the bounds. */
  #keepWithin(): void {
    const { log, clock, bounds } = this.#o
    if (this.#running === undefined) return
    const { db, writer } = this.#running
    try {
      const lines = dropOldestDeeds(db, bounds)
      if (lines > 0) log.info('the oldest lines of who did what are dropped', { lines })
      const dropped = dropOldestDay(db, bounds, clock.now())
      if (dropped !== undefined) {
        writer.names.forgetValues()
        log.info('the oldest day of the history is summed up and dropped', { ...dropped })
      }
      this.#metrics.bytes(bytesOf(db))
    } catch (error) {
      log.error('cannot drop the oldest days of the history', { error: messageOf(error) })
    }
  }

  async #beginAnew(): Promise<void> {
    await this.#end()
    this.#begin()
  }

  async #end(): Promise<void> {
    const running = this.#running
    if (running === undefined) return
    this.#running = undefined
    await running.watches.stop()
    running.recorder.stop()
    running.writer.close()
  }

  async stop(): Promise<void> {
    this.#isStopped = true
    this.#resting?.cancel()
    await this.#renewing
    await this.#end()
    this.#lock?.release()
  }
}
