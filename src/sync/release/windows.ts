// Whether a window is open now: a cron expression in a time zone says when it opens, a duration for how long. Pure.
import { Cron } from 'croner'
import { parseDuration } from '#lib/duration.ts'

export interface Window {
  readonly cron: string
  readonly duration: string
  readonly timeZone: string
  readonly until?: string | undefined
}

/** No windows means always. What cannot be understood is closed. */
export const isAnyOpen = (windows: readonly Window[] | undefined, now: number): boolean =>
  windows === undefined || windows.length === 0 || windows.some((w) => isOpen(w, now))

function isOpen({ cron, duration, timeZone, until }: Window, now: number): boolean {
  if (until !== undefined && now >= Date.parse(until)) return false
  const length = parseDuration(duration)
  try {
    // The first opening after the moment one length ago is at or before now exactly while the window is open.
    const opening = new Cron(cron, { timezone: timeZone, paused: true }).nextRun(new Date(now - length))
    return opening !== null && opening.getTime() <= now
  } catch {
    return false
  }
}
