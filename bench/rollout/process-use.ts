// What a process has used so far, as counted by the kernel; undefined when it has ended.
import { readdirSync, readFileSync } from 'node:fs'

const TICKS_PER_SECOND = 100

export function cpuSecondsOf(pid: number): number | undefined {
  const stat = read(`/proc/${pid}/stat`)
  if (stat === undefined) return undefined
  const fields = stat.slice(stat.lastIndexOf(')') + 2).split(' ')
  return (Number(fields[11]) + Number(fields[12])) / TICKS_PER_SECOND
}

export const peakMb = (pid: number): number | undefined => memoryMb(pid, /^VmHWM:\s+(\d+)/m)
export const residentMb = (pid: number): number | undefined => memoryMb(pid, /^VmRSS:\s+(\d+)/m)

function memoryMb(pid: number, line: RegExp): number | undefined {
  const kb = line.exec(read(`/proc/${pid}/status`) ?? '')?.[1]
  return kb === undefined ? undefined : Number(kb) / 1_024
}

/** Of all processes whose command line has the text. */
export const cpuSecondsWith = (text: string): number =>
  pidsWith(text).reduce((sum, pid) => sum + (cpuSecondsOf(pid) ?? 0), 0)

export const pidsWith = (text: string): readonly number[] =>
  readdirSync('/proc')
    .filter((name) => /^\d+$/.test(name) && read(`/proc/${name}/cmdline`)?.includes(text) === true)
    .map(Number)

function read(path: string): string | undefined {
  try {
    return readFileSync(path, 'utf8')
  } catch {
    return undefined
  }
}
