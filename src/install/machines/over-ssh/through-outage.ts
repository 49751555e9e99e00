// How long an API server may be away before `kubenode join --ssh` gives up. Requests that are repeated here must be safe to repeat.
import { ConnectionError, isGone, isServerError, isTooManyRequests } from '#kube/errors.ts'
import type { Clock } from '#lib/clock.ts'
import { formatAge } from '#lib/duration.ts'
import { shownLine } from '#lib/printable.ts'
import type { Io } from '#lib/terminal/io.ts'

/** A control plane that restarts, or changes its leader, answers again within this time. */
export const OUTAGE_MS = 60_000
const EVERY_MS = 2_000

/** Passes by itself. Missing rights do not. */
export const isOutage = (error: unknown): error is Error =>
  error instanceof ConnectionError || isServerError(error) || isTooManyRequests(error) || isGone(error)

export const outageText = (ms: number, { message }: Error): string =>
  `no answer from the API server for ${formatAge(ms)}: ${message}`

export interface Patience {
  readonly clock: Pick<Clock, 'monotonic' | 'sleep'>
  readonly io: Pick<Io, 'err'>
  readonly signal: AbortSignal
}

/** Reports an outage once, and repeats the request until it has lasted a minute. */
export async function throughOutage<T>(request: () => Promise<T>, { clock, io, signal }: Patience): Promise<T> {
  let since: number | undefined
  for (;;) {
    const startedMs = clock.monotonic()
    try {
      return await request()
    } catch (error) {
      signal.throwIfAborted()
      if (!isOutage(error)) throw error
      if (since === undefined) io.err(shownLine(`${outageText(0, error)}; trying again for a minute`))
      since ??= startedMs
      if (clock.monotonic() - since >= OUTAGE_MS) throw error
    }
    await clock.sleep(EVERY_MS, signal)
  }
}
