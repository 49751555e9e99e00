// How long this system has run. In a container /proc/uptime is that of the machine around it, so the age of the first process counts.
import { readFileSync } from 'node:fs'

/** USER_HZ: the unit of /proc/PID/stat on every architecture that Node.js supports. */
const TICKS_PER_S = 100

/** Undefined where /proc does not tell. */
export function systemUpMs(read: (path: string) => string | undefined = readText): number | undefined {
  const upS = Number.parseFloat(read('/proc/uptime') ?? '')
  const stat = read('/proc/1/stat') ?? ''
  // The command's name may contain spaces and parentheses, so count fields from the last `)`.
  const ticks = Number.parseInt(stat.slice(stat.lastIndexOf(')') + 2).split(' ')[19] ?? '', 10)
  if (!Number.isFinite(upS)) return undefined
  return Math.max(0, upS - (Number.isFinite(ticks) ? ticks / TICKS_PER_S : 0)) * 1_000
}

function readText(path: string): string | undefined {
  try {
    return readFileSync(path, 'utf8')
  } catch {
    return undefined
  }
}
