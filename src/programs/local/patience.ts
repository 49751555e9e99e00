// Prints what the program is waiting for once the wait is long enough to worry a user.
import type { Clock } from '#lib/clock.ts'

/** Users accept this much silence. */
export const SILENT_MS = 2_000

export interface Patience {
  readonly clock: Pick<Clock, 'after'>
  readonly print: (line: string) => void
  /** Ends the wait, not the operation. */
  readonly signal?: AbortSignal
}

/** `what` may be a function, called only when the line is printed. */
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
