// How long a reflector waits before a retry. It never gives up; it only retries less often, with jitter. Pure.
import { ApiError } from './errors.ts'

/** A healthy stream that broke is reopened almost at once, with jitter: thousands may have been cut off together. */
const FIRST_SPREAD_MS = 100
const BASE_MS = 400
const LONGEST_MS = 30_000
/** Upper limit of the wait that a server may request. */
const LONGEST_ASKED_MS = 300_000

/** `failures`: in a row, 1 for the first. `spread` is in [0, 1). */
export function backoffMs(failures: number, spread: number, error?: unknown): number {
  const asked = error instanceof ApiError ? Math.min(error.retryAfterMs ?? 0, LONGEST_ASKED_MS) : 0
  const own =
    failures <= 1
      ? FIRST_SPREAD_MS * spread
      : Math.min(LONGEST_MS, BASE_MS * 2 ** Math.min(failures - 2, 20)) * (0.5 + spread)
  return asked > 0 ? asked + own : own
}
