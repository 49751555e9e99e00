// Progress of work with a known size, with rate and time left: `uploading: 84.2 of 150.0 MB, 12.1 MB/s, 6s left`. Pure.
import { formatAge } from '../duration.ts'

const MB = 1_000_000
/** The rate of the first moments does not predict the rest. */
const RATE_AFTER_MS = 3_000

export interface Amount {
  readonly doneBytes: number
  readonly totalBytes: number
  readonly elapsedMs: number
}

export function amountLine(what: string, { doneBytes, totalBytes, elapsedMs }: Amount): string {
  const amount = `${what}: ${megabytes(doneBytes)} of ${megabytes(totalBytes)} MB`
  const pace = paceOf(doneBytes, totalBytes, elapsedMs)
  return pace === undefined ? amount : `${amount}, ${megabytes(pace.perSecond)} MB/s, ${pace.left} left`
}

/** `importing: 340 of 1200, 41 a second, 21s left`. */
export function countLine(what: string, done: number, total: number, elapsedMs: number): string {
  const pace = paceOf(done, total, elapsedMs)
  const count = `${what}: ${done} of ${total}`
  if (pace === undefined) return count
  return `${count}, ${pace.perSecond.toFixed(pace.perSecond < 10 ? 1 : 0)} a second, ${pace.left} left`
}

function paceOf(done: number, total: number, elapsedMs: number) {
  if (elapsedMs < RATE_AFTER_MS || done <= 0) return undefined
  const leftMs = (Math.max(0, total - done) * elapsedMs) / done
  return { perSecond: (done / elapsedMs) * 1_000, left: formatAge(Math.ceil(leftMs / 1_000) * 1_000) }
}

const megabytes = (bytes: number): string => (bytes / MB).toFixed(1)
