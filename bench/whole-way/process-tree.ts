// What a process and all that it started have cost so far, read from /proc.
import { readFileSync, readdirSync } from 'node:fs'

export interface ProcessSeen {
  readonly pid: number
  readonly parent: number
  /** In clock ticks since boot; tells a process from a later one with the same pid. */
  readonly startTime: string
  /** User and system time, with that of children that have ended and were waited for. */
  readonly cpuSeconds: number
  readonly command: string
}

/** USER_HZ: 100 on every Linux that Node runs on. */
const TICKS_PER_SECOND = 100

function processOf(pid: number): ProcessSeen | undefined {
  try {
    const stat = readFileSync(`/proc/${pid}/stat`, 'utf8')
    // The name in brackets may hold anything; the fields after it are numbered from the state, the third of proc(5).
    const fields = stat.slice(stat.lastIndexOf(')') + 2).split(' ')
    const ticks = [11, 12, 13, 14].reduce((sum, i) => sum + Number(fields[i]), 0)
    const isZombie = fields[0] === 'Z'
    return isZombie
      ? undefined
      : {
          pid,
          parent: Number(fields[1]),
          startTime: fields[19] ?? '',
          cpuSeconds: ticks / TICKS_PER_SECOND,
          command: readFileSync(`/proc/${pid}/cmdline`, 'utf8').replaceAll('\0', ' ').trim(),
        }
  } catch {
    return undefined // it ended while we looked
  }
}

const everyProcess = (): ProcessSeen[] =>
  readdirSync('/proc')
    .filter((name) => /^\d+$/.test(name))
    .map((name) => processOf(Number(name)))
    .filter((p) => p !== undefined)

/** The process and its descendants. One whose parent has died is no longer found. */
export function treeOf(root: number): readonly ProcessSeen[] {
  const all = everyProcess()
  const members = new Set([root])
  for (let before = 0; before !== members.size;) {
    before = members.size
    for (const p of all) if (members.has(p.parent)) members.add(p.pid)
  }
  return all.filter((p) => members.has(p.pid))
}

/** Of those seen earlier, and of all whose command line names the folder: who still lives. */
export function livingOf(seen: readonly ProcessSeen[], folder: string): readonly ProcessSeen[] {
  const known = new Set(seen.map((p) => `${p.pid} ${p.startTime}`))
  return everyProcess().filter((p) => known.has(`${p.pid} ${p.startTime}`) || p.command.includes(folder))
}

/** Summed proportional set size: what all of them together keep in memory. Probes come and go; one that went counts nothing. */
export function memoryMbOf(processes: readonly ProcessSeen[]): number {
  const kb = processes.map(({ pid }) => {
    try {
      return Number(/^Pss:\s+(\d+)/m.exec(readFileSync(`/proc/${pid}/smaps_rollup`, 'utf8'))?.[1] ?? 0)
    } catch {
      return 0
    }
  })
  return kb.reduce((a, b) => a + b, 0) / 1024
}
