// Roles that share a process start and end together, because a supervisor cannot see that part of a process is dead.
import { type Clock } from '#lib/clock.ts'
import { systemClock } from '#lib/system-clock.ts'
import { KubeNodeError } from '#lib/errors.ts'
import { followSignal } from '#lib/follow-signal.ts'
import { raceWith } from '#runtime/race.ts'
import { runErrors } from './run-errors.ts'

/** Upper bound for a manager to drain controllers, release its lease, stop caches and close listeners. */
export const MOST_TO_END_MS = 60_000

type Settled<E> = PromiseSettledResult<E>

/**
 * Runs all until the signal aborts or one of them ends for any reason, and resolves when all have ended. Rejects with the first error, or if one does not end
 * in time: it no longer leads, and waiting for it would keep the others from restarting.
 */
export async function untilOneEnds<N, E>(
  names: readonly N[],
  signal: AbortSignal,
  run: (name: N, signal: AbortSignal) => Promise<E>,
  clock: Pick<Clock, 'after'> = systemClock,
): Promise<readonly E[]> {
  const stop = new AbortController()
  const unfollow = followSignal(stop, signal)
  const ended: (Settled<E> | undefined)[] = names.map(() => undefined)
  const all = names.map(async (name, at) => {
    const [how] = await Promise.allSettled([run(name, stop.signal)])
    ended[at] = how
    stop.abort(new Error('another role of this process ended'))
  })
  await aborted(stop.signal)
  await raceWith(clock, MOST_TO_END_MS, Promise.all(all))
  unfollow()
  for (const e of ended) if (e?.status === 'rejected') throw e.reason
  const done = ended.flatMap((e) => (e?.status === 'fulfilled' ? [e.value] : []))
  const left = ended.length - done.length
  if (left === 0) return done
  const seconds = MOST_TO_END_MS / 1_000
  throw new KubeNodeError(runErrors.KN1446({ left, all: ended.length, seconds }), { retry: 'later' })
}

const aborted = (signal: AbortSignal): Promise<void> =>
  new Promise((resolve) => {
    if (signal.aborted) resolve()
    else signal.addEventListener('abort', () => resolve(), { once: true })
  })
