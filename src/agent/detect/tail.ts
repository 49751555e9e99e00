// Follows one log file through rotation (a new file with the same name), truncation (the file shrank) and times when the file does not exist. A new file
// is read from its end; after an agent restart, reading resumes where it stopped.
import { closeSync, fstatSync, openSync, readSync, statSync, watch } from 'node:fs'
import { dirname } from 'node:path'
import type { Clock } from '#lib/clock.ts'
import { cutLines, NO_LINE, type LineState } from './line-reader.ts'

/** Where reading stopped; kept over restarts. */
export interface Cursor {
  readonly inode: number
  readonly offset: number
}

export interface TailOptions {
  readonly path: string
  readonly clock: Clock
  readonly cursor: Cursor | undefined
  /** `isOld`: the lines were written before the file was followed. */
  readonly onLines: (lines: readonly string[], isOld: boolean) => void
  readonly pollMs?: number
  /** How many bytes before the end of a new file are read. */
  readonly oldBytes?: number
}

/** File system events are fast but get lost; a periodic check finds everything. */
const POLL_MS = 1_000
const CHUNK = 65_536
/** Limit of one read; the rest waits for the next turn of the event loop, so that a storm of lines blocks nothing else. */
const MAX_AT_ONCE = 4 * 2 ** 20

export class Tail {
  readonly #o: TailOptions
  readonly #buffer = Buffer.alloc(CHUNK)
  #fd: number | undefined
  #inode = 0
  #offset = 0
  /** Everything before this offset is old. */
  #newFrom = 0
  #line: LineState = NO_LINE
  #isFirst = true
  #timer: { cancel(): void } | undefined
  #watcher: { close(): void } | undefined
  #isClosed = false
  #isQueued = false

  constructor(options: TailOptions) {
    this.#o = options
  }

  start(): void {
    this.#watchFolder()
    this.#read()
  }

  get cursor(): Cursor {
    return { inode: this.#inode, offset: this.#offset - this.#line.rest.length }
  }

  close(): void {
    this.#isClosed = true
    this.#timer?.cancel()
    this.#watcher?.close()
    this.#closeFile()
  }

  #watchFolder(): void {
    try {
      const watcher = watch(dirname(this.#o.path), { persistent: false }, () => this.#readSoon())
      watcher.on('error', () => watcher.close())
      this.#watcher = watcher
    } catch {
      // The folder does not exist yet, or no watches are left: the periodic check takes over.
    }
  }

  #readSoon(): void {
    if (this.#isQueued) return
    this.#isQueued = true
    setImmediate(() => {
      this.#isQueued = false
      this.#read()
    })
  }

  #read(): void {
    if (this.#isClosed) return
    this.#timer?.cancel()
    const isMore = this.#readAll()
    if (isMore) this.#readSoon()
    this.#timer = this.#o.clock.after(this.#o.pollMs ?? POLL_MS, () => this.#read())
  }

  /** Returns true when more is left to read. */
  #readAll(): boolean {
    try {
      if (this.#fd === undefined && !this.#open()) return false
      if (this.#readToEnd()) return true
      const named = statSync(this.#o.path, { throwIfNoEntry: false })
      // Read the old file to its end before starting the new one.
      if (named !== undefined && named.ino !== this.#inode) {
        this.#closeFile()
        return this.#open() && this.#readToEnd()
      }
      return false
    } catch {
      // EIO, ESTALE and the like: reopen at the next check.
      this.#closeFile()
      return false
    }
  }

  #open(): boolean {
    const stat = statSync(this.#o.path, { throwIfNoEntry: false })
    const isFirst = this.#isFirst
    this.#isFirst = false
    if (stat === undefined || !stat.isFile()) return false
    this.#fd = openSync(this.#o.path, 'r')
    this.#inode = fstatSync(this.#fd).ino
    this.#line = NO_LINE
    const { cursor } = this.#o
    const isMet = isFirst && cursor === undefined
    this.#newFrom = isMet ? stat.size : 0
    if (isFirst && cursor?.inode === this.#inode && cursor.offset <= stat.size) this.#offset = cursor.offset
    else this.#offset = isMet ? Math.max(0, stat.size - (this.#o.oldBytes ?? 0)) : 0
    // The offset is most likely in the middle of a line.
    if (isMet && this.#offset > 0 && this.#offset < stat.size) this.#line = { rest: NO_LINE.rest, isSkipping: true }
    return true
  }

  #readToEnd(): boolean {
    const fd = this.#fd
    if (fd === undefined) return false
    if (fstatSync(fd).size < this.#offset) {
      this.#offset = 0
      this.#newFrom = 0
      this.#line = NO_LINE
    }
    for (let total = 0; total < MAX_AT_ONCE;) {
      const isOld = this.#offset < this.#newFrom
      const most = isOld ? Math.min(CHUNK, this.#newFrom - this.#offset) : CHUNK
      const got = readSync(fd, this.#buffer, 0, most, this.#offset)
      if (got === 0) return false
      this.#offset += got
      total += got
      const { lines, state } = cutLines(this.#line, this.#buffer.subarray(0, got))
      this.#line = state
      if (lines.length > 0) this.#o.onLines(lines, isOld)
    }
    return true
  }

  #closeFile(): void {
    if (this.#fd !== undefined) closeSync(this.#fd)
    this.#fd = undefined
  }
}
