// Why a program of the local fleet exited: the numbered error at the end of its log. A program that exits at once restarts forever, and few people check its
// log.
import { closeSync, existsSync, fstatSync, openSync, readdirSync, readSync, statSync } from 'node:fs'
import { join } from 'node:path'
import { printableLine } from '#lib/printable.ts'
import { shortened } from '#lib/shortened.ts'

/** Room for a bug's stack trace after the error. */
const TAIL_BYTES = 16 * 1_024
const MAX_SHOWN = 200
const NUMBERED = /^KN\d{4,5}: .+$/gm

/** Every start appends to the same log: what an earlier one logged says nothing about this end. */
export class Ends {
  readonly #logs: string
  /** Bytes of each log that belong to earlier starts. */
  readonly #before = new Map<string, number>()
  readonly #last = new Map<string, string>()

  constructor(logs: string) {
    this.#logs = logs
    if (existsSync(logs))
      for (const file of readdirSync(logs)) this.#before.set(join(logs, file), sizeOf(join(logs, file)))
  }

  /** Of a program that has just exited; undefined if it logged no error since it started. */
  why(name: string): string | undefined {
    const log = join(this.#logs, `${name}.log`)
    const why = whyEnded(log, this.#before.get(log))
    this.#before.set(log, sizeOf(log))
    if (why !== undefined) this.#last.set(name, why)
    return why
  }

  /** The newest error with which the program exited since these logs are followed. */
  last(name: string): string | undefined {
    return this.#last.get(name)
  }
}

const sizeOf = (file: string): number => (existsSync(file) ? statSync(file).size : 0)

/** Undefined if it logged nothing after these bytes, or its log cannot be read. */
function whyEnded(log: string, before = 0): string | undefined {
  try {
    const file = openSync(log, 'r')
    try {
      const { size } = fstatSync(file)
      const isReplaced = size < before
      const bytes = Buffer.alloc(Math.min(isReplaced ? size : size - before, TAIL_BYTES))
      readSync(file, bytes, 0, bytes.length, size - bytes.length)
      const last = [...bytes.toString('utf8').matchAll(NUMBERED)].at(-1)?.[0]
      return last && shortened(printableLine(last), MAX_SHOWN)
    } finally {
      closeSync(file)
    }
  } catch {
    return undefined
  }
}
