// A process's state in the kernel: whether it is alive, since when, and whether it is stopped. A pid alone does not identify a process; pid and start time do.
import { readFileSync, readdirSync } from 'node:fs'
import { kill } from 'node:process'

export interface ProcessId {
  readonly pid: number
  /** Clock ticks since boot; empty where the kernel does not report it. */
  readonly startTime: string
}

export interface ProcStat extends ProcessId {
  /** R, S, D, T, t, Z … */
  readonly state: string
  readonly group: number
  readonly session: number
}

/** The name in parentheses may contain anything, also spaces and parentheses: fields are counted from the last one. */
export function parseStat(text: string): ProcStat | undefined {
  const end = text.lastIndexOf(')')
  const pid = Number.parseInt(text, 10)
  const fields = text.slice(end + 2).split(' ')
  const [state, , group, session] = fields
  const startTime = fields[19]
  if (end === -1 || !Number.isSafeInteger(pid) || state === undefined || startTime === undefined) return undefined
  return { pid, state, group: Number(group), session: Number(session), startTime }
}

/** `proc` differs from /proc for processes of a container. */
export function readStat(pid: number, proc = '/proc'): ProcStat | undefined {
  try {
    return parseStat(readFileSync(`${proc}/${pid}/stat`, 'latin1'))
  } catch {
    return undefined
  }
}

/** Undefined when the process has exited, including one that waits to be reaped. */
export function livingStat({ pid, startTime }: ProcessId, proc?: string): ProcStat | undefined {
  const stat = readStat(pid, proc)
  return stat === undefined || stat.startTime !== startTime || stat.state === 'Z' || stat.state === 'X'
    ? undefined
    : stat
}

/** The living processes of a group. Zombies are excluded. Reads nothing that waits for a process that hangs in the kernel. */
export function livingInGroup(group: number, proc = '/proc'): readonly ProcessId[] {
  return pidsIn(proc).flatMap((pid) => {
    const stat = readStat(pid, proc)
    const isIn = stat?.group === group && stat.state !== 'Z' && stat.state !== 'X'
    return isIn ? [{ pid, startTime: stat.startTime }] : []
  })
}

function pidsIn(proc: string): readonly number[] {
  try {
    return readdirSync(proc)
      .filter((name) => /^\d+$/.test(name))
      .map(Number)
  } catch {
    // Not Linux.
    return []
  }
}

export const isFrozenState = (state: string): boolean => state === 'T' || state === 't'

export interface MarkedProcess extends ProcStat {
  readonly mark: string
}

/** Processes with the variable in their environment, as far as it is readable. Zombies are excluded. */
export function processesMarked(variable: string): readonly MarkedProcess[] {
  const found: MarkedProcess[] = []
  for (const name of readdirSync('/proc')) {
    if (!/^\d+$/.test(name)) continue
    const mark = environmentOf(name)
      .split('\0')
      .find((e) => e.startsWith(`${variable}=`))
    if (mark === undefined) continue
    const stat = readStat(Number(name))
    if (stat !== undefined && stat.state !== 'Z') found.push({ ...stat, mark: mark.slice(variable.length + 1) })
  }
  return found
}

function environmentOf(pid: string): string {
  try {
    return readFileSync(`/proc/${pid}/environ`, 'latin1')
  } catch {
    // Another user's process, or it exited in between.
    return ''
  }
}

export function send(pid: number, signal: NodeJS.Signals): void {
  try {
    kill(pid, signal)
  } catch {
    // It has already exited, as the signal intended.
  }
}
