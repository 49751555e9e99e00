// Keeps the log of the writing thread short: another thread folds most of it in parallel with the writes, the rest is folded here at times.
import type { DatabaseSync } from 'node:sqlite'
import { Worker } from 'node:worker_threads'
import { foldLog, foldWholeLog } from './fold-log.ts'
import type { FolderOrder, FolderReport } from './sqlite-folder.ts'
import { DISK_FULL, writeFailure, type WriteFailure } from './storage-error.ts'
import { threadFile } from './thread-file.ts'
import { MIB } from '#lib/bytes.ts'

/** In bytes of the log. */
export interface LogBounds {
  /** Unfolded, after which another thread folds them: fewer folds are fewer syncs on the disk that the writes wait for. */
  readonly foldAt: number
  /** A log restarts at its front only when all of it is folded, which never happens during writes. So when it is this long … */
  readonly restartAt: number
  /** … and at most this is left, the writing thread folds the rest itself: some 5 ms. 16 MiB at once stalled writers for 60. */
  readonly left: number
  /** Then it folds however much is left. A log that a reader made longer shrinks to this when it can. */
  readonly longest: number
}

export const LOG_BOUNDS: LogBounds = { foldAt: 4 * MIB, restartAt: 16 * MIB, left: MIB, longest: 32 * MIB }

/** After this long without a write the rest is folded too: no client waits. */
const IDLE_MS = 250

export interface LogKeeping {
  readonly db: DatabaseSync
  readonly file: string
  readonly bounds: LogBounds
  /** How long the writing thread was blocked. */
  readonly held: (ms: number) => void
  /** The failure of a fold, on either thread: if it is final, nothing may be written after it. */
  readonly failed: (e: unknown) => WriteFailure
  readonly ended: (failure: WriteFailure) => void
}

export class LogKeeper {
  readonly #keeping: LogKeeping
  readonly #foldAll: () => void
  readonly #foldWhole: () => void
  #folder: Folder | undefined
  /** Bytes since the last fold began, and since the log restarted. */
  #unfolded = 0
  #logged = 0
  #lastWrite = 0
  #idle: NodeJS.Timeout | undefined

  constructor(keeping: LogKeeping) {
    this.#keeping = keeping
    this.#foldAll = foldLog(keeping.db)
    this.#foldWhole = foldWholeLog(keeping.db)
  }

  /** After the answer to a group of writes. */
  wrote(bytes: number): void {
    this.#unfolded += bytes
    this.#logged += bytes
    this.#lastWrite = performance.now()
    this.#foldIfMuch()
    this.#foldWhenIdle()
  }

  /** Where space is short: unfolded data takes it twice, and a log that grows instead of restarting takes more. False when there was none. */
  foldNow(): boolean {
    return this.#foldHere(this.#foldWhole)
  }

  async close(): Promise<void> {
    clearTimeout(this.#idle)
    await this.#folder?.close()
  }

  /** At once, without order. */
  stop(): void {
    clearTimeout(this.#idle)
    this.#folder?.stop()
  }

  #foldIfMuch(): void {
    if (this.#folder?.isFolding === true) return
    const { foldAt, restartAt, left, longest } = this.#keeping.bounds
    if (this.#logged >= restartAt && (this.#unfolded <= left || this.#logged >= longest)) return void this.#foldHere()
    if (this.#unfolded < foldAt && this.#logged < restartAt) return
    this.#unfolded = 0
    this.#folder ??= new Folder(this.#keeping.file, (failure) => this.#folded(failure))
    this.#folder.fold()
  }

  #folded(failure: WriteFailure | undefined): void {
    if (failure?.retry === 'never') this.#keeping.ended(failure)
    // after a fold that found no space wait for the next write
    else if (failure === undefined && this.#logged >= this.#keeping.bounds.restartAt) this.#foldIfMuch()
  }

  #foldHere(fold = this.#foldAll): boolean {
    this.#unfolded = 0
    this.#logged = 0
    const began = performance.now()
    try {
      fold()
    } catch (e) {
      const failure = this.#keeping.failed(e)
      // for space and for readers it waits by itself
      if (failure.retry === 'never') this.#keeping.ended(failure)
      return failure.code !== DISK_FULL
    }
    this.#keeping.held(performance.now() - began)
    return true
  }

  #foldWhenIdle(): void {
    this.#idle ??= setTimeout(() => {
      this.#idle = undefined
      if (this.#folder?.isFolding === true || performance.now() - this.#lastWrite < IDLE_MS) this.#foldWhenIdle()
      else this.#foldHere()
    }, IDLE_MS)
  }
}

/** Started when there is much to fold: a server at rest does without it. */
class Folder {
  readonly #worker: Worker
  readonly #ended: Promise<unknown>
  isFolding = false

  constructor(file: string, folded: (failure: WriteFailure | undefined) => void) {
    this.#worker = new Worker(threadFile('sqlite-folder'), { workerData: { file } })
    this.#worker.on('message', ({ failure }: FolderReport) => {
      this.isFolding = false
      folded(failure)
    })
    this.#worker.on('error', (e) => folded(writeFailure(file, e)))
    this.#ended = new Promise((resolve) => this.#worker.once('exit', resolve))
  }

  fold(): void {
    this.isFolding = true
    this.#tell('fold')
  }

  async close(): Promise<void> {
    this.#tell('close')
    await this.#ended
  }

  stop(): void {
    void this.#worker.terminate()
  }

  #tell(order: FolderOrder): void {
    this.#worker.postMessage(order, [])
  }
}
