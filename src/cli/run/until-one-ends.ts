// Several roles in one process start and end together: a supervisor cannot see that one part of a process is dead.
import { followSignal } from '#lib/follow-signal.ts'

/** Runs each until the signal aborts or any of them ends, for any reason, and resolves when all have ended. Rejects with the first error. */
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
