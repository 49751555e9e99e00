// Names what a person waits for, once it takes so long that they wonder. What is quick says nothing.
import { type Clock, systemClock } from '#lib/clock.ts'

/** As long as an API server may take to answer before a command names it. */
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
