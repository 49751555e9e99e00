// Decides whether maintenance windows and blackouts are open. An unreadable window opens nothing, and an unreadable blackout is an error.
import { Cron } from 'croner'
import { timestamp } from '#lib/clock.ts'
import { parseDuration } from '#lib/duration.ts'
import { messageOf } from '#lib/errors.ts'

export interface Window {
  readonly cron: string
  readonly duration: string
  readonly timeZone: string
  /** After this, no window is open. */
  readonly until?: string | undefined
}

export interface Blackout {
  /** When it starts, repeatedly or once. */
  readonly cron?: string | undefined
  readonly from?: string | undefined
  readonly duration: string
  readonly timeZone: string
  readonly until?: string | undefined
}

/** When the open window closes. Undefined while none is open. */
export type OpenUntil = (now: number) => number | undefined

interface Pattern {
  /** The first start after the given time. */
  readonly startAfter: (ms: number) => number | undefined
  readonly lengthMs: number
  readonly lastMs: number
}

/** Throws if the text is invalid. */
function patternOf({ cron, duration, timeZone, until }: Window): Pattern {
  const times = new Cron(cron, { timezone: timeZone, paused: true })
  const startAfter = (ms: number) => times.nextRun(new Date(ms))?.getTime()
  // Called once to validate: an unknown time zone fails only here.
  startAfter(0)
  return { startAfter, lengthMs: parseDuration(duration), lastMs: until === undefined ? Infinity : timeOf(until) }
}

const timeOf = (text: string): number => Date.parse(new Date(text).toISOString())

/** The start of the open window. While one is open, and only then, the first start after (now - length) is at or before now. */
function openSince({ startAfter, lengthMs, lastMs }: Pattern, now: number): number | undefined {
  const start = startAfter(now - lengthMs)
  return start !== undefined && start <= now && start <= lastMs ? start : undefined
}

/** Throws if the text is invalid. Permission for disruption ends at `until`, even in the middle of a window. */
export function compileWindow(window: Window): OpenUntil {
  const pattern = patternOf(window)
  return (now) => {
    const start = now < pattern.lastMs ? openSince(pattern, now) : undefined
    return start === undefined ? undefined : Math.min(start + pattern.lengthMs, pattern.lastMs)
  }
}

/** Throws if the text is invalid. A blackout lasts its full time. No new one starts after `until`. */
export function compileBlackout({ cron, from, ...rest }: Blackout): OpenUntil {
  if (cron === undefined) {
    const start = timeOf(from ?? '')
    const end = start + parseDuration(rest.duration)
    return (now) => (now >= start && now < end ? end : undefined)
  }
  const pattern = patternOf({ cron, ...rest })
  return (now) => {
    const start = openSince(pattern, now)
    return start === undefined ? undefined : start + pattern.lengthMs
  }
}

export interface Opening {
  readonly isOpen: boolean
  /** When the next window opens. Absent while one is open, and if none ever opens again. */
  readonly nextAt?: number
  /** Why one of them is invalid; admission may not have checked it. In that case none is open. */
  readonly problem?: string
}

/** What ends a wait for a window. */
export const windowOpens = ({ nextAt }: Opening): string =>
  nextAt === undefined
    ? 'a commit changes the windows: none of them opens again'
    : `the next window opens at ${timestamp(nextAt)}`

/** No windows means always open. */
export function openingOf(windows: readonly Window[] | undefined, now: number): Opening {
  if (windows === undefined || windows.length === 0) return { isOpen: true }
  const patterns: Pattern[] = []
  for (const window of windows) {
    const read = readWindow(window)
    if (typeof read === 'string') return { isOpen: false, problem: read }
    patterns.push(read)
  }
  if (patterns.some((p) => now < p.lastMs && openSince(p, now) !== undefined)) return { isOpen: true }
  const starts = patterns.flatMap((p) => {
    const start = p.startAfter(now)
    return start !== undefined && start < p.lastMs ? [start] : []
  })
  return { isOpen: false, ...(starts.length > 0 && { nextAt: Math.min(...starts) }) }
}

function readWindow(window: Window): Pattern | string {
  try {
    return patternOf(window)
  } catch (e) {
    return `window "${window.cron}" in ${window.timeZone}: ${messageOf(e)}`
  }
}
