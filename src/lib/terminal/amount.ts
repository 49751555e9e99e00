// Pure: how far a work is whose size is known, with its rate and the time left: `uploading: 84.2 of 150.0 MB, 12.1 MB/s, 6s left`.
import { formatAge } from '../duration.ts'

const MB = 1_000_000
/** The rate of the first moments says nothing about the rest. */
const RATE_AFTER_MS = 3_000

export interface Amount {
  readonly doneBytes: number
  readonly totalBytes: number
  readonly elapsedMs: number
}

export function amountLine(what: string, { doneBytes, totalBytes, elapsedMs }: Amount): string {
  const amount = `${what}: ${megabytes(doneBytes)} of ${megabytes(totalBytes)} MB`
  if (elapsedMs < RATE_AFTER_MS || doneBytes <= 0) return amount
  const bytesPerMs = doneBytes / elapsedMs
  const leftMs = Math.max(0, totalBytes - doneBytes) / bytesPerMs
  return `${amount}, ${megabytes(bytesPerMs * 1_000)} MB/s, ${formatAge(Math.ceil(leftMs / 1_000) * 1_000)} left`
}

const megabytes = (bytes: number): string => (bytes / MB).toFixed(1)
