// Finds the problem of a cron expression. Five fields only: seconds and years do not belong in a maintenance window.
import { Cron, CronPattern } from 'croner'

/** The first day of the century's first leap year: 29 February comes after it. */
const ANY_DAY = new Date('2000-01-01T00:00:00Z')

export function cronProblem(value: unknown): string | undefined {
  if (typeof value !== 'string') return undefined
  const fields = value.trim().split(/\s+/).length
  if (fields !== 5) return `has ${fields} fields; five are required: minute hour day month weekday`
  try {
    if (new CronPattern(value).pattern !== value) return 'is not a cron expression'
    return new Cron(value, { timezone: 'UTC', paused: true }).nextRun(ANY_DAY) === null
      ? 'matches no day of any year: the month never has that day'
      : undefined
  } catch (e) {
    return e instanceof Error ? e.message.replace(/^CronPattern: /, '') : String(e)
  }
}
