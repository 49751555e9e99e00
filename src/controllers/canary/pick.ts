// Chooses the machines of a canary, once: exactly those named, or so many spread over hardware classes and zones.
import type { Machine } from '#api/kinds/machine.ts'
import { matchesLabels } from '#kube/selector.ts'
import { pickSpread } from '#nodeops/spread.ts'
import type { Seen } from './seen.ts'
import { isSound } from './standing.ts'

/** A canary is a few machines, whatever a percentage comes to. */
const MOST_MACHINES = 100

export interface Picked {
  readonly machines: readonly string[]
  /** Why there are too few. */
  readonly lack: string | undefined
}

export function pickMachines({ canary, machines, nodes }: Seen): Picked {
  const { selector, pick } = canary.spec
  const matching = machines.filter((m) => m.spec.channel !== 'Observe' && matchesLabels(selector, m.metadata.labels))
  const sound = matching.filter((m) => isSound(m, nodes))
  if (pick.machines !== undefined) return named(pick.machines, matching, sound)
  const share = Math.max(1, Math.floor((matching.length * (pick.percent ?? 0)) / 100))
  const count = Math.min(MOST_MACHINES, pick.count ?? share)
  const candidates = sound.map((machine) => ({ name: machine.metadata.name ?? '', machine }))
  const picked = pickSpread(candidates, count, ['class', 'zone', 'rack'], new Map()).map((c) => c.name)
  const lack =
    picked.length === count
      ? undefined
      : `${picked.length} of ${matching.length} matching machines are well, ${count} are wanted`
  return { machines: picked.toSorted(), lack }
}

function named(names: readonly string[], matching: readonly Machine[], sound: readonly Machine[]): Picked {
  const has = (list: readonly Machine[], name: string) => list.some((m) => m.metadata.name === name)
  const stranger = names.find((n) => !has(matching, n))
  const unwell = names.find((n) => !has(sound, n))
  const lack =
    stranger !== undefined
      ? `the selector does not match ${stranger}`
      : unwell === undefined
        ? undefined
        : `${unwell} is not well`
  return { machines: names.toSorted(), lack }
}
