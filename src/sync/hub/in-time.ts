// Processes the clusters of one pass within a time limit: finished clusters count, and the rest come first in the next pass. Otherwise a pass over
// hundreds of clusters on a busy machine would hit its reconcile deadline, lose everything it read, and start over with the same clusters forever.
import type { Clock } from '#lib/clock.ts'
import { followSignal } from '#lib/follow-signal.ts'
import { inParallel } from '#lib/pool.ts'

export interface PassTime {
  /** After this time no further cluster is started. */
  readonly startMs: number
  /** One cluster is interrupted after this: its writes stay, and the next pass continues. */
  readonly eachMs: number
}

/** The sum is less than the reconcile timeout of a Release. */
export const PASS_TIME: PassTime = { startMs: 120_000, eachMs: 150_000 }

export interface PassOrder {
  readonly clock: Pick<Clock, 'monotonic' | 'after'>
  readonly atOnce: number
  readonly signal: AbortSignal
  /** Clusters that the last pass had no time for. */
  readonly first: readonly string[]
  readonly time?: PassTime
}

/** Returns the names that it had no time for. Throws on failures of `look`, and when the pass is aborted. */
export async function inTime(
  names: readonly string[],
  { clock, atOnce, signal, first, time = PASS_TIME }: PassOrder,
  read: (name: string, signal: AbortSignal) => Promise<void>,
): Promise<readonly string[]> {
  const left: string[] = []
  const wanted = new Set(names)
  const ordered = new Set([...first.filter((name) => wanted.has(name)), ...names])
  const endsAt = clock.monotonic() + time.startMs
  const readOnce = async (name: string): Promise<void> => {
    const own = new AbortController()
    const unfollow = followSignal(own, signal)
    const timer = clock.after(time.eachMs, () => own.abort())
    try {
      await read(name, own.signal)
      if (own.signal.aborted) left.push(name)
    } catch (error) {
      if (signal.aborted || !own.signal.aborted) throw error
      left.push(name)
    } finally {
      timer.cancel()
      unfollow()
    }
  }
  await inParallel(ordered, atOnce, async (name) => {
    if (clock.monotonic() < endsAt) await readOnce(name)
    else left.push(name)
  })
  signal.throwIfAborted()
  return left
}
