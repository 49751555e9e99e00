// Says what is waited for once the wait is long enough for a person to wonder.
import type { Clock } from '#lib/clock.ts'

/** People wait so long without a word. */
export const QUIET_MS = 2_000

export interface Patience {
  readonly clock: Pick<Clock, 'after'>
  readonly say: (line: string) => void
}

export async function patiently<T>({ clock, say }: Patience, what: string, work: Promise<T>): Promise<T> {
  const timer = clock.after(QUIET_MS, () => say(`waiting for ${what}`))
  try {
    return await work
  } finally {
    timer.cancel()
  }
}
