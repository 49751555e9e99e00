// Formats times and durations like the command line. Pure.

const SECOND = 1000
const MINUTE = 60 * SECOND
const HOUR = 60 * MINUTE
const DAY = 24 * HOUR

/** At most two units: the seconds of a day are noise. */
export function span(ms: number): string {
  const left = Math.max(0, Math.round(ms / SECOND)) * SECOND
  if (left < MINUTE) return `${left / SECOND}s`
  if (left < HOUR) return joined(left, MINUTE, 'm', SECOND, 's', 10 * MINUTE)
  if (left < DAY) return joined(left, HOUR, 'h', MINUTE, 'm', 10 * HOUR)
  return joined(left, DAY, 'd', HOUR, 'h', 10 * DAY)
}

/** Drops the smaller unit from `plain` on, where it no longer matters. */
function joined(ms: number, big: number, b: string, small: number, s: string, plain: number): string {
  const whole = Math.floor(ms / big)
  const rest = Math.floor((ms % big) / small)
  return rest === 0 || ms >= plain ? `${whole}${b}` : `${whole}${b}${rest}${s}`
}

const two = (n: number): string => String(n).padStart(2, '0')

const clock = (d: Date): string => `${two(d.getHours())}:${two(d.getMinutes())}:${two(d.getSeconds())}`

/** English, as the rest of the page. */
const WEEKDAYS = ['Sun', 'Mon', 'Tue', 'Wed', 'Thu', 'Fri', 'Sat']
const MONTHS = ['Jan', 'Feb', 'Mar', 'Apr', 'May', 'Jun', 'Jul', 'Aug', 'Sep', 'Oct', 'Nov', 'Dec']

/** The time today; on other days of the year with its weekday and date, and in other years with the year. */
export function moment(at: number, now: number): string {
  const d = new Date(at)
  const today = new Date(now)
  if (today.toDateString() === d.toDateString()) return clock(d)
  const date = `${d.getDate()} ${MONTHS[d.getMonth()] ?? ''}`
  const day =
    d.getFullYear() === today.getFullYear() ? `${WEEKDAYS[d.getDay()] ?? ''} ${date}` : `${date} ${d.getFullYear()}`
  return `${day} ${clock(d)}`
}

/** A day of a report, such as 2026-01-31; other words stay. It has no time zone, so none moves it. */
export function dayText(word: string): string {
  const [, year, month, day] = /^(\d{4})-(\d{2})-(\d{2})$/.exec(word) ?? []
  return month === undefined ? word : `${Number(day)} ${MONTHS[Number(month) - 1] ?? month} ${year ?? ''}`
}

/** The same without seconds, for axes and for times that are estimated. */
export const hour = (at: number, now: number): string => moment(at, now).slice(0, -':00'.length)

/** For a datetime-local field, which takes minutes. */
export const fieldTime = (at: number): string => {
  const d = new Date(at)
  return `${d.getFullYear()}-${two(d.getMonth() + 1)}-${two(d.getDate())}T${two(d.getHours())}:${two(d.getMinutes())}`
}

export const parseFieldTime = (text: string): number | undefined => {
  const at = new Date(text).getTime()
  return Number.isFinite(at) ? at : undefined
}

/** `10,000`: machine counts should be readable at a glance. */
export const count = (n: number): string => n.toLocaleString('en-US')
