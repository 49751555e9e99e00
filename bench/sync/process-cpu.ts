// The processor time that processes used, from the kernel.
import { readFileSync } from 'node:fs'

/** `sysconf(_SC_CLK_TCK)` is 100 on every Linux that runs Node. */
const MS_PER_TICK = 10

/** Behind the name, which may hold spaces; the state is the first and the third field of all. */
function fieldsOf(pid: number | 'self'): readonly number[] {
  const text = readFileSync(`/proc/${pid}/stat`, 'utf8')
  return text
    .slice(text.lastIndexOf(')') + 2)
    .split(' ')
    .map(Number)
}

/** Of the children of this process that it waited for: cutime and cstime. */
export function cpuOfChildren(): number {
  const fields = fieldsOf('self')
  return ((fields[13] ?? 0) + (fields[14] ?? 0)) * MS_PER_TICK
}

/** Of running processes: utime and stime. */
export const cpuOf = (pids: readonly number[]): number =>
  pids.map(fieldsOf).reduce((sum, fields) => sum + ((fields[11] ?? 0) + (fields[12] ?? 0)) * MS_PER_TICK, 0)
