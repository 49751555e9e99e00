// Time as a dependency. Durations come from `monotonic`, never from `now`: wall clocks jump.

export interface Timer {
  cancel(): void
}

export interface Clock {
  /** Wall clock, milliseconds since 1970. For timestamps that people and other machines read. */
  now(): number
  /** Milliseconds from an arbitrary start, never going back. For every duration and deadline inside a process. */
  monotonic(): number
  /** Runs `fn` once after `ms`. Timers never keep the process alive by themselves. */
  after(ms: number, fn: () => void): Timer
  /** Resolves after `ms`; rejects with the signal's reason if it aborts first. */
  sleep(ms: number, signal?: AbortSignal): Promise<void>
}

/** `sleep` built on `after`, shared by every clock. */
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

/** One moment is written many times, one after the other. */
let written = { ms: Number.NaN, text: '' }

/** RFC 3339 with whole seconds, the Kubernetes format. */
export function timestamp(ms: number): string {
  if (ms !== written.ms) written = { ms, text: `${new Date(ms).toISOString().slice(0, 19)}Z` }
  return written.text
}

/** RFC 3339 with microseconds (MicroTime), as in Leases and Events. */
export const microTimestamp = (ms: number): string => `${new Date(ms).toISOString().slice(0, 23)}000Z`

/** Two clocks read in sequence differ by this; a time on a full second must not flip between two. */
const CLOCK_JITTER_MS = 20

/** For people: `02:03:10 UTC`, with the date unless it is today. Rounded up to whole seconds, so that it is true at that time. */
export function timeOfDay(ms: number, now: number): string {
  const at = new Date(Math.ceil((ms - CLOCK_JITTER_MS) / 1_000) * 1_000).toISOString()
  const [day, time] = [at.slice(0, 10), at.slice(11, 19)]
  return `${day === new Date(now).toISOString().slice(0, 10) ? '' : `${day} `}${time} UTC`
}
