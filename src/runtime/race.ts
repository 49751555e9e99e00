// Waits for a promise until a deadline or a signal; the promise itself keeps running.
import type { Clock } from '#lib/clock.ts'

export type Raced<T> = { readonly settled: true; readonly value: T } | { readonly settled: false }

/** Whichever comes first: the promise, the deadline, the signal. */
export function raceWith<T>(
  clock: Pick<Clock, 'after'>,
  ms: number,
  promise: Promise<T>,
  signal?: AbortSignal,
): Promise<Raced<T>> {
  return new Promise((resolve, reject) => {
    const giveUp = () => {
      end()
      resolve({ settled: false })
    }
    const timer = clock.after(ms, giveUp)
    const end = () => {
      timer.cancel()
      signal?.removeEventListener('abort', giveUp)
    }
    signal?.addEventListener('abort', giveUp, { once: true })
    promise.then(
      (value) => {
        end()
        resolve({ settled: true, value })
      },
      (error: unknown) => {
        end()
        reject(error)
      },
    )
  })
}
