// Whether a maintenance window is open, and when the next one opens.
import { Cron } from 'croner'
import { parseDuration } from '#lib/duration.ts'
import { messageOf } from '#lib/errors.ts'

export interface Window {
  readonly cron: string
  readonly duration: string
  readonly timeZone: string
  readonly until?: string
}

export interface Opening {
  readonly isOpen: boolean
  /** When the next one opens; absent while one is open, and when none ever opens again. */
  readonly nextAt?: number
  /** A window that nobody can read, which admission may not have looked at: nothing opens by it. */
  readonly problem?: string
}

/** No windows means always open. */
export function openingOf(windows: readonly Window[] | undefined, now: number): Opening {
  if (windows === undefined || windows.length === 0) return { isOpen: true }
  const problem = windows.map(problemOf).find((p) => p !== undefined)
  if (problem !== undefined) return { isOpen: false, problem }
  let nextAt: number | undefined
  for (const window of windows) {
    const startsAt = nextStart(window, now - parseDuration(window.duration))
    if (startsAt === undefined) continue
    if (startsAt <= now) return { isOpen: true }
    nextAt = Math.min(nextAt ?? startsAt, startsAt)
  }
  return { isOpen: false, ...(nextAt !== undefined && { nextAt }) }
}

function problemOf(window: Window): string | undefined {
  try {
    nextStart(window, 0)
    return undefined
  } catch (e) {
    return `window "${window.cron}" in ${window.timeZone}: ${messageOf(e)}`
  }
}

/** The first start after the moment, unless it is past the end of the window's life. */
function nextStart({ cron, timeZone, until }: Window, afterMs: number): number | undefined {
  const start = new Cron(cron, { timezone: timeZone, paused: true }).nextRun(new Date(afterMs))?.getTime()
  return start === undefined || (until !== undefined && start > Date.parse(until)) ? undefined : start
}
