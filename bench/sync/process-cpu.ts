// The processor time that children of this process used, from the kernel: all that were waited for.
import { readFileSync } from 'node:fs'

/** `sysconf(_SC_CLK_TCK)` is 100 on every Linux that runs Node. */
const MS_PER_TICK = 10

export function cpuOfChildren(): number {
  const text = readFileSync('/proc/self/stat', 'utf8')
  // Behind the name, which may hold spaces: cutime and cstime are the 16th and 17th field of all.
  const fields = text.slice(text.lastIndexOf(')') + 2).split(' ')
  return (Number(fields[13]) + Number(fields[14])) * MS_PER_TICK
}
