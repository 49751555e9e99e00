// Says what is wrong with a cron expression. Five fields only: seconds and years have no place in a maintenance window.
import { CronPattern } from 'croner'

export function cronProblem(value: unknown): string | undefined {
  if (typeof value !== 'string') return undefined
  const fields = value.trim().split(/\s+/).length
  if (fields !== 5) return `has ${fields} fields; five are required: minute hour day month weekday`
  try {
    return new CronPattern(value).pattern === value ? undefined : 'is not a cron expression'
  } catch (e) {
    return e instanceof Error ? e.message.replace(/^CronPattern: /, '') : String(e)
  }
}
