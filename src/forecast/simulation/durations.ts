// How long switches take in a simulation: drawn from the last ones that sets recorded, by chance of machine and component. Assumed where nothing was recorded.
import type { MachineComponentSet } from '#api/kinds/machine-component-set.ts'
import { durationsOf } from '#explain/durations.ts'
import { luckOf } from '#lib/luck.ts'

/** Quantiles that are drawn: finer ones make no difference of minutes. */
const LEVELS = 20

export function drawnDurations(
  sets: readonly MachineComponentSet[],
  seed: number,
): (set: string, component: string, machine: string) => number {
  const levels = Array.from({ length: LEVELS }, (_, n) => durationsOf(sets, (n + 1) / LEVELS))
  const known = new Map<string, number>()
  return (set, component, machine) => {
    const level = Math.floor(luckOf(seed, `${component}\n${machine}`) * LEVELS)
    const key = `${level}\n${set}\n${component}`
    const ms = known.get(key) ?? levels[level]?.(set, component).ms ?? 0
    known.set(key, ms)
    return ms
  }
}

/** Components without a recorded duration: theirs is assumed. */
export function untimed(sets: readonly MachineComponentSet[], components: Iterable<string>): readonly string[] {
  const durationOf = durationsOf(sets, 0.5)
  return [...components].filter((component) => durationOf('', component).isAssumed).toSorted()
}
