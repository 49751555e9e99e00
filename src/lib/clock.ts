// Time as a dependency. Durations come from `monotonic`, never from `now`: wall clocks jump.

export interface Timer {
  cancel(): void
}

export interface Clock {
  /** Wall clock, milliseconds since 1970. For stamps that people and other machines read. */
  now(): number
  /** Milliseconds from an arbitrary start, never going back. For every duration and deadline inside a process. */
  monotonic(): number
  /** Runs `fn` once after `ms`. Timers never keep the process alive by themselves. */
  after(ms: number, fn: () => void): Timer
  /** Resolves after `ms`; rejects with the signal's reason when it aborts first. */
  sleep(ms: number, signal?: AbortSignal): Promise<void>
}

/** `sleep` in terms of `after`, shared by every clock. */
export function sleepOn(clock: Pick<Clock, 'after'>, ms: number, signal?: AbortSignal): Promise<void> {
  return new Promise((resolve, reject) => {
    if (signal?.aborted) return reject(signal.reason)
    const onAbort = () => {
      timer.cancel()
      reject(signal?.reason)
    }
    const timer = clock.after(ms, () => {
      signal?.removeEventListener('abort', onAbort)
      resolve()
    })
    signal?.addEventListener('abort', onAbort, { once: true })
  })
}

/** RFC 3339 with whole seconds, as Kubernetes writes times. */
export const timestamp = (ms: number): string => `${new Date(ms).toISOString().slice(0, 19)}Z`

/** RFC 3339 with microseconds (MicroTime), as Leases and Events carry. */
export const microTimestamp = (ms: number): string => `${new Date(ms).toISOString().slice(0, 23)}000Z`

/** Two clocks read one after the other differ by this; a time that lies on a second must not be said as one of two. */
const CLOCK_JITTER_MS = 20

/** For people: `02:03:10 UTC`, with the date when it is not today's. Whole seconds, rounded up: at that time it is so. */
export function timeOfDay(ms: number, now: number): string {
  const at = new Date(Math.ceil((ms - CLOCK_JITTER_MS) / 1_000) * 1_000).toISOString()
  const [day, time] = [at.slice(0, 10), at.slice(11, 19)]
  return `${day === new Date(now).toISOString().slice(0, 10) ? '' : `${day} `}${time} UTC`
}
