// Several roles in one process live and end together: a process of which a part is dead looks alive to whoever supervises it.
import { followSignal } from '#lib/follow-signal.ts'

/** Runs each until the signal aborts or any of them ends, for whatever reason, and answers when all have ended. Rejects with the first error. */
export async function untilOneEnds<N, E>(
  names: readonly N[],
  signal: AbortSignal,
  run: (name: N, signal: AbortSignal) => Promise<E>,
): Promise<readonly E[]> {
  const stop = new AbortController()
  const unfollow = followSignal(stop, signal)
  const ended = await Promise.allSettled(
    names.map(async (name) => {
      try {
        return await run(name, stop.signal)
      } finally {
        stop.abort(new Error('another role of this process ended'))
      }
    }),
  )
  unfollow()
  return ended.map((e) => {
    if (e.status === 'rejected') throw e.reason
    return e.value
  })
}
