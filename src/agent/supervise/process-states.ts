// Polls the same processes as cheaply as the kernel allows: each one's file in /proc stays open. One call per poll, and the open file of an exited
// process never shows another one that got its pid.
import { closeSync, openSync, readSync } from 'node:fs'
import { livingStat, parseStat, type ProcessId } from './proc.ts'

const BUFFER_BYTES = 1_024
const PARENTHESIS = 0x29

export class ProcessStates {
  readonly #proc: string
  readonly #buffer = Buffer.alloc(BUFFER_BYTES)
  readonly #open = new Map<string, number>()

  /** `proc` differs from /proc for processes of a container. */
  constructor(proc = '/proc') {
    this.#proc = proc
  }

  /** R, S, D, T, t …; undefined when that process has exited. */
  state(id: ProcessId): string | undefined {
    const fd = this.#open.get(processKey(id)) ?? this.#openFile(id)
    if (fd === undefined) return livingStat(id, this.#proc)?.state
    const length = this.#read(fd)
    // The name may contain anything, also parentheses: the state follows the last one.
    const state = String.fromCharCode(this.#buffer[this.#buffer.lastIndexOf(PARENTHESIS, length - 1) + 2] ?? 0)
    if (length > 0 && state !== 'Z' && state !== 'X') return state
    this.#forget(processKey(id), fd)
    return undefined
  }

  /** Closes processes that are no longer polled. */
  keepOnly(ids: readonly ProcessId[]): void {
    const wanted = new Set(ids.map(processKey))
    for (const [key, fd] of this.#open) if (!wanted.has(key)) this.#forget(key, fd)
  }

  #openFile(id: ProcessId): number | undefined {
    let fd: number
    try {
      fd = openSync(`${this.#proc}/${id.pid}/stat`, 'r')
    } catch {
      // Exited, or no descriptors left: the other method finds out which.
      return undefined
    }
    if (parseStat(this.#buffer.toString('latin1', 0, this.#read(fd)))?.startTime === id.startTime) {
      this.#open.set(processKey(id), fd)
      return fd
    }
    closeSync(fd)
    return undefined
  }

  #read(fd: number): number {
    try {
      return readSync(fd, this.#buffer, 0, BUFFER_BYTES, 0)
    } catch {
      // ESRCH: the process has exited and was reaped.
      return 0
    }
  }

  #forget(key: string, fd: number): void {
    this.#open.delete(key)
    closeSync(fd)
  }
}

const processKey = ({ pid, startTime }: ProcessId): string => `${pid} ${startTime}`
