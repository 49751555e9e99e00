// Why a program of the local fleet ended, in its own words: the numbered error at the end of its log. A program that ends at once is started again for ever, and its log
// is the last place where a person looks.
import { closeSync, fstatSync, openSync, readSync } from 'node:fs'
import { printableLine } from '#lib/printable.ts'
import { shortened } from '#lib/shortened.ts'

/** A bug comes with its stack after the error. */
const TAIL_BYTES = 16 * 1_024
const MAX_SHOWN = 200
/** Logs are appended across starts, so errors from an earlier start do not count. */
const NUMBERED = /^KN\d{4,5}: .+$/gm

/** Undefined when it logged nothing, or its log cannot be read. */
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
