// Whether a window or blackout of a policy is open. Those are the only questions of the Defender that the calendar answers, and so the wall clock.
import { Cron } from 'croner'
import type { DefenderPolicySpec } from '#api/kinds/defender-policy.ts'
import { parseDuration } from '#lib/duration.ts'

type Window = NonNullable<DefenderPolicySpec['windows']>[number]
type Blackout = NonNullable<DefenderPolicySpec['blackouts']>[number]

/** Answers until when it is open, or undefined. */
export type OpenUntil = (now: number) => number | undefined

/** Throws for a cron expression or time zone that cannot be understood. */
export function compileWindow({ cron, duration, timeZone, until }: Window): OpenUntil {
  const pattern = new Cron(cron, { timezone: timeZone, paused: true })
  const ms = parseDuration(duration)
  const last = until === undefined ? Infinity : Date.parse(until)
  return (now) => {
    // The first beginning after (now - duration) is at or before now exactly while one is open.
    const start = pattern.nextRun(new Date(now - ms))?.getTime()
    return start !== undefined && start <= now && start <= last ? start + ms : undefined
  }
}

export function compileBlackout(blackout: Blackout): OpenUntil {
  const { cron, from, duration, timeZone, until } = blackout
  if (cron !== undefined) return compileWindow({ cron, duration, timeZone, ...(until !== undefined && { until }) })
  const start = Date.parse(from ?? '')
  const end = start + parseDuration(duration)
  return (now) => (now >= start && now < end ? end : undefined)
}
