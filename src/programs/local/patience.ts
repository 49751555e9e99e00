// Prints what the program waits for once the wait is long enough for a person to wonder.
import type { Clock } from '#lib/clock.ts'

/** People wait so long without a word. */
export const SILENT_MS = 2_000

export interface Patience {
  readonly clock: Pick<Clock, 'after'>
  readonly print: (line: string) => void
  /** Ends the wait; the operation itself may continue. */
  readonly signal?: AbortSignal
}

/** `what` may be found out when it is said. */
export async function patiently<T>(
  { clock, print, signal }: Patience,
  what: string | (() => string),
  work: Promise<T>,
): Promise<T> {
  const timer = clock.after(SILENT_MS, () => print(`waiting for ${typeof what === 'string' ? what : what()}`))
  try {
    return await (signal === undefined ? work : untilAborted(work, signal))
  } finally {
    timer.cancel()
  }
}

function untilAborted<T>(work: Promise<T>, signal: AbortSignal): Promise<T> {
  return new Promise((resolve, reject) => {
    const end = (): void => reject(signal.reason)
    if (signal.aborted) end()
    signal.addEventListener('abort', end, { once: true })
    work.then(resolve, reject).finally(() => signal.removeEventListener('abort', end))
  })
}
