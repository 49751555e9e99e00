// Prints what a command waits for, once that takes long enough to wonder. A fast request prints nothing.
import { type Clock, systemClock } from '#lib/clock.ts'

/** How long an API server may take to answer before a command names it. */
const SLOW_MS = 3_000

export async function sayIfSlow<T>(
  say: (line: string) => void,
  line: string,
  work: Promise<T>,
  clock: Clock = systemClock,
): Promise<T> {
  const slow = clock.after(SLOW_MS, () => say(`${line}\n`))
  try {
    return await work
  } finally {
    slow.cancel()
  }
}
