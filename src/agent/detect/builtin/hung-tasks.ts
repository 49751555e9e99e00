// Detects processes that hang in the kernel: in uninterruptible sleep in every sample, with no CPU time used in between.
import { formatDuration } from '#lib/duration.ts'
import type { Reading } from './reading.ts'

export interface SleepingTask {
  readonly pid: number
  readonly name: string
  /** Identifies the process and shows whether it ran: start time and CPU time. */
  readonly mark: string
}

export interface Sleeper extends SleepingTask {
  readonly sinceMs: number
}

/** One line of /proc/<pid>/stat, when it is in uninterruptible sleep. */
export function sleepingTask(stat: string): SleepingTask | undefined {
  const [open, close] = [stat.indexOf('('), stat.lastIndexOf(')')]
  const fields = stat.slice(close + 2).split(' ')
  if (open === -1 || close === -1 || fields[0] !== 'D') return undefined
  return {
    pid: Number.parseInt(stat, 10),
    name: stat.slice(open + 1, close),
    mark: `${fields[19]} ${fields[11]} ${fields[12]}`,
  }
}

export function followSleepers(
  before: ReadonlyMap<number, Sleeper>,
  seen: readonly SleepingTask[],
  nowMs: number,
): ReadonlyMap<number, Sleeper> {
  return new Map(
    seen.map((task) => {
      const old = before.get(task.pid)
      return [task.pid, { ...task, sinceMs: old?.mark === task.mark ? old.sinceMs : nowMs }]
    }),
  )
}

const SHOWN = 5

export function judgeHung(sleepers: ReadonlyMap<number, Sleeper>, nowMs: number, afterMs: number): Reading {
  const type = 'TasksHung'
  const hung = [...sleepers.values()].filter((s) => nowMs - s.sinceMs >= afterMs)
  if (hung.length === 0) return { type, status: 'False', reason: 'NoTasksHung', message: 'no process is hung' }
  // The message stays the same while they hang, however long that lasts.
  const names = hung.slice(0, SHOWN).map((s) => `${s.name} (${s.pid})`)
  const message = `${hung.length} hang in the kernel for ${formatDuration(afterMs)} or longer: ${names.join(', ')}`
  return { type, status: 'True', reason: 'TasksHung', message }
}
