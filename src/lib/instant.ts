// A point in time as people type it: a date, T and a time, with an offset or in the machine's time zone.

/** Milliseconds since 1970; undefined if it is not a time. Date.parse alone reads February 30 as March 2. */
export function instantMs(text: string): number | undefined {
  const day = /^(\d{4}-\d{2}-\d{2})T/.exec(text)?.[1]
  if (day === undefined) return undefined
  const [start, ms] = [Date.parse(`${day}T00:00:00Z`), Date.parse(text)]
  const isDay = !Number.isNaN(start) && new Date(start).toISOString().startsWith(day)
  return isDay && !Number.isNaN(ms) ? ms : undefined
}
