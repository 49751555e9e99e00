// Why a program of the local fleet exited: the numbered error at the end of its log. A program that exits at once restarts forever, and few people check its
// log.
import { closeSync, fstatSync, openSync, readSync } from 'node:fs'
import { printableLine } from '#lib/printable.ts'
import { shortened } from '#lib/shortened.ts'

/** Room for a bug's stack trace after the error. */
const TAIL_BYTES = 16 * 1_024
const MAX_SHOWN = 200
/** Starts append to the same log, so errors of an earlier start do not count. */
const NUMBERED = /^KN\d{4,5}: .+$/gm

/** Undefined if it logged nothing, or its log cannot be read. */
export function whyEnded(log: string): string | undefined {
  try {
    const file = openSync(log, 'r')
    try {
      const { size } = fstatSync(file)
      const bytes = Buffer.alloc(Math.min(size, TAIL_BYTES))
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
