// The clusters of one pass, within a time: what is done when it ends counts, and the rest comes first in the next pass. A pass over hundreds of clusters on a busy
// machine would otherwise reach the deadline of its reconcile, lose everything that it has read, and begin again with the same clusters for ever.
import type { Clock } from '#lib/clock.ts'
import { followSignal } from '#lib/follow-signal.ts'
import { inParallel } from '#lib/pool.ts'

export interface PassTime {
  /** Later no further cluster is started. */
  readonly startMs: number
  /** One cluster is interrupted after this: what was written there stays, and the next pass continues. */
  readonly eachMs: number
}

/** Together less than the time of a reconcile of a Release. */
export const PASS_TIME: PassTime = { startMs: 120_000, eachMs: 150_000 }

export interface PassOrder {
  readonly clock: Pick<Clock, 'monotonic' | 'after'>
  readonly atOnce: number
  readonly signal: AbortSignal
  /** Those that the last pass had no time for. */
  readonly first: readonly string[]
  readonly time?: PassTime
}

/** Returns the names that it had no time for. Failures of `look`, and an abort of the pass, are thrown. */
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
