// Disk space kept unused until the disk is full: then deletions are written into it, so that users can free space through the API.
import { closeSync, constants, fstatSync, fsyncSync, ftruncateSync, openSync, statfsSync, writeSync } from 'node:fs'
import { randomFillSync } from 'node:crypto'
import { dirname } from 'node:path'

const reserveFile = (file: string): string => `${file}.reserve`

/** Some hundred groups of deletions, and the unfolded part of the largest group of writes. */
const RESERVE_BYTES = 4 * 1024 * 1024
/** Deletions have used part of it; this much is still worth keeping. */
export const LEAST_BYTES = RESERVE_BYTES / 2
const PIECE_BYTES = 256 * 1024
/** With less than this the log is folded after each group of writes, so that little is unfolded when nothing is left. */
const TIGHT_BYTES = 64 * 1024 * 1024

export class Reserve {
  readonly #folder: string
  readonly #fd: number
  #held: number
  #wasSought = false

  constructor(file: string) {
    this.#folder = dirname(file)
    this.#fd = openSync(reserveFile(file), constants.O_RDWR | constants.O_CREAT, 0o600)
    this.#held = fstatSync(this.#fd).size
  }

  /** There is none though it was requested: the disk is full, and no write that takes space is allowed. */
  get isMissing(): boolean {
    return this.#wasSought && this.#held < LEAST_BYTES
  }

  get isTight(): boolean {
    return this.#free() < TIGHT_BYTES
  }

  /** Allocates it where there is space; costs little where there is none. */
  take(): void {
    this.#wasSought = true
    if (this.#held >= LEAST_BYTES) return
    if (this.#free() < LEAST_BYTES) return
    this.#fill()
    try {
      fsyncSync(this.#fd)
      this.#held = fstatSync(this.#fd).size
    } catch {
      this.#held = 0
    }
    if (this.#held < LEAST_BYTES) this.release()
  }

  /** As much as fits: only the disk knows how much free space we may use. */
  #fill(): void {
    // zeros are no space on some disks
    const piece = randomFillSync(Buffer.allocUnsafe(PIECE_BYTES))
    try {
      for (let at = 0; at < RESERVE_BYTES; at += PIECE_BYTES) writeSync(this.#fd, piece, 0, PIECE_BYTES, at)
    } catch {
      // use what fitted
    }
  }

  /** False when there was nothing to release. */
  release(): boolean {
    const had = this.#held
    try {
      ftruncateSync(this.#fd, 0)
      // others can use the freed space once the disk has recorded it
      fsyncSync(this.#fd)
    } catch {
      // it is released in part, or not
    }
    this.#held = 0
    return had > 0
  }

  close(): void {
    closeSync(this.#fd)
  }

  #free(): number {
    try {
      const { bfree, bsize } = statfsSync(this.#folder)
      return bfree * bsize
    } catch {
      return 0
    }
  }
}
