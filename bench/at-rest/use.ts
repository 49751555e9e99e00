// What programs use while nothing happens: their share of a core over a stretch of time, and the memory that they keep.
import { systemClock } from '#lib/system-clock.ts'
import { memoryMb } from '../apiserver/servers.ts'
import { type Figures, rounded } from '../result.ts'
import { cpuSecondsOf } from '../rollout/process-use.ts'

/** By the name of the program; a program may have several processes. */
export type Programs = Readonly<Record<string, readonly number[]>>

export async function useAtRest(programs: Programs, seconds: number): Promise<Figures> {
  const spent = (): Figures => Object.fromEntries(Object.entries(programs).map(([name, pids]) => [name, cpuOf(pids)]))
  const [before, from] = [spent(), performance.now()]
  await systemClock.sleep(seconds * 1_000)
  const [after, tookS] = [spent(), (performance.now() - from) / 1_000]
  return Object.fromEntries(
    Object.entries(programs).flatMap(([name, pids]) => [
      [`${name}_core`, rounded(((after[name] ?? 0) - (before[name] ?? 0)) / tookS)],
      [`${name}_mb`, Math.round(memoryMb(pids))],
    ]),
  )
}

const cpuOf = (pids: readonly number[]): number => pids.reduce((sum, pid) => sum + (cpuSecondsOf(pid) ?? 0), 0)

/** Of the programs that we ship. */
export function oursOf(figures: Figures, ours: readonly string[]): Figures {
  const sum = (what: string) => ours.reduce((total, name) => total + (figures[`${name}_${what}`] ?? 0), 0)
  return { ours_core: rounded(sum('core')), ours_mb: Math.round(sum('mb')) }
}
