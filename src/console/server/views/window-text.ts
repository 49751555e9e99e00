// A maintenance window as people say it: "Mon to Thu at 09:00 for 8h (Europe/Berlin)". Pure.
import type { Window } from '#permits/windows.ts'

const WEEKDAYS = ['Sun', 'Mon', 'Tue', 'Wed', 'Thu', 'Fri', 'Sat', 'Sun']

/** Patterns that few windows have stay as they are declared: a sentence that is nearly right would be wrong. */
export function windowText({ cron, duration, timeZone }: Window): string {
  return `${startText(cron) ?? cron} for ${duration} (${timeZone})`
}

function startText(cron: string): string | undefined {
  const [minute = '', hour = '', day, month, weekdays = ''] = cron.trim().split(/\s+/)
  if (!/^\d{1,2}$/.test(minute) || !/^\d{1,2}$/.test(hour) || day !== '*' || month !== '*') return undefined
  const time = `${hour.padStart(2, '0')}:${minute.padStart(2, '0')}`
  if (weekdays === '*') return `every day at ${time}`
  const days = weekdays.split(',').map(daysText)
  return days.includes(undefined) ? undefined : `${days.join(', ')} at ${time}`
}

function daysText(part: string): string | undefined {
  const names = part.split('-').map(weekdayOf)
  return names.length > 2 || names.includes(undefined) ? undefined : names.join(' to ')
}

const weekdayOf = (word: string): string | undefined =>
  /^[0-7]$/.test(word) ? WEEKDAYS[Number(word)] : WEEKDAYS.find((name) => name.toLowerCase() === word.toLowerCase())
