// Ages in tables: two units at most, the second only where it tells something.

const MINUTE = 60
const HOUR = 3_600
const DAY = 86_400
const YEAR = 365 * DAY

export function ageText(seconds: number): string {
  if (seconds < -1) return '<invalid>'
  const s = Math.max(0, Math.floor(seconds))
  const two = (big: number, bigUnit: string, small: number, smallUnit: string) => {
    const rest = Math.floor((s % big) / small)
    return rest === 0 ? `${Math.floor(s / big)}${bigUnit}` : `${Math.floor(s / big)}${bigUnit}${rest}${smallUnit}`
  }
  if (s < 2 * MINUTE) return `${s}s`
  if (s < 10 * MINUTE) return two(MINUTE, 'm', 1, 's')
  if (s < 3 * HOUR) return `${Math.floor(s / MINUTE)}m`
  if (s < 8 * HOUR) return two(HOUR, 'h', MINUTE, 'm')
  if (s < 2 * DAY) return `${Math.floor(s / HOUR)}h`
  if (s < 8 * DAY) return two(DAY, 'd', HOUR, 'h')
  if (s < 2 * YEAR) return `${Math.floor(s / DAY)}d`
  if (s < 8 * YEAR) return two(YEAR, 'y', DAY, 'd')
  return `${Math.floor(s / YEAR)}y`
}

export function ageCell(since: string | undefined, now: number): string {
  const at = since === undefined ? Number.NaN : Date.parse(since)
  return Number.isNaN(at) ? '<unknown>' : ageText((now - at) / 1_000)
}
