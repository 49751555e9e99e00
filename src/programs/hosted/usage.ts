// What a process uses, from /proc: memory now, and processor time since its start. Undefined where there is no /proc, or no such process any more.
import { readFileSync } from 'node:fs'

export interface Usage {
  readonly residentBytes: number
  readonly cpuSeconds: number
}

/** Of /proc on all Linux systems that Node runs on, whatever the kernel's own timer. */
const TICKS_PER_SECOND = 100

export function usageOf(pid: number): Usage | undefined {
  try {
    return parseUsage(readFileSync(`/proc/${pid}/stat`, 'latin1'), readFileSync(`/proc/${pid}/status`, 'latin1'))
  } catch {
    return undefined
  }
}

export function parseUsage(stat: string, status: string): Usage | undefined {
  // The name of the program, in parentheses, may have any characters.
  const fields = stat.slice(stat.lastIndexOf(')') + 2).split(' ')
  const [user, system] = [Number(fields[11]), Number(fields[12])]
  const kib = Number(/^VmRSS:\s+(\d+) kB$/m.exec(status)?.[1])
  if (![user, system, kib].every(Number.isFinite)) return undefined
  return { residentBytes: kib * 1024, cpuSeconds: (user + system) / TICKS_PER_SECOND }
}
