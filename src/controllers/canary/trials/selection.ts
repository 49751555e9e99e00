// Picks the machines of a canary, once: exactly the named ones, or a number of them spread over hardware classes and zones.
import type { Machine } from '#api/kinds/machine.ts'
import { counted } from '#lib/counted.ts'
import { selects } from '#nodes/placement/selecting.ts'
import { pickSpread } from '#nodes/placement/spread.ts'
import type { Fit } from './compatibility.ts'
import type { Seen } from '../seen.ts'
import { isHeldMachine, isSound } from './machine-state.ts'

/** A canary is a few machines, whatever the percentage works out to. */
const MOST_MACHINES = 100

export interface Picked {
  readonly machines: readonly string[]
  /** Why there are not enough machines. */
  readonly lack: string | undefined
  /** Not enough machines that the versions fit on. */
  readonly isMisfit?: boolean
  /** The selector matches too few machines, healthy or not. */
  readonly isWithout?: boolean
}

export function pickMachines(seen: Seen, { everAll }: Fit, now: number): Picked {
  const { canary, machines, nodes } = seen
  const { selector, pick } = canary.spec
  const matching = machines.filter((m) => m.spec.channel !== 'Observe' && selects(selector, m.metadata.labels))
  const well = matching.filter((m) => isSound(m, nodes) && !isHeldMachine(seen, m, now))
  if (pick.machines !== undefined) return named(pick.machines, { matching, well, everAll })
  const fitting = well.filter((m) => everAll(m) === undefined)
  const share = Math.max(1, Math.floor((matching.length * (pick.percent ?? 0)) / 100))
  const count = Math.min(MOST_MACHINES, pick.count ?? share)
  const candidates = fitting.map((machine) => ({ name: machine.metadata.name ?? '', machine }))
  const spread = pickSpread(candidates, count, ['class', 'zone', 'rack'], new Map())
  const picked = spread.map((c) => c.name).toSorted()
  if (picked.length === count) return { machines: picked, lack: undefined }
  const misfit = well.length < count ? undefined : firstMisfit(well, everAll)
  if (misfit !== undefined) return { machines: picked, lack: misfit, isMisfit: true }
  const needed = `${count} ${count === 1 ? 'is' : 'are'} needed`
  if (matching.length === 0)
    return { machines: picked, lack: `no machine matches the selector; ${needed}`, isWithout: true }
  const lack = `${picked.length} of ${counted(matching.length, 'matching machine is', 'matching machines are')} healthy; ${needed}`
  return { machines: picked, lack, ...(matching.length < count && { isWithout: true }) }
}

/** Why the first incompatible machine cannot take the versions. */
function firstMisfit(machines: readonly Machine[], everAll: Fit['everAll']): string | undefined {
  for (const machine of machines) {
    const why = everAll(machine)
    if (why !== undefined) return why
  }
  return undefined
}

interface Pool {
  readonly matching: readonly Machine[]
  readonly well: readonly Machine[]
  readonly everAll: Fit['everAll']
}

function named(names: readonly string[], { matching, well, everAll }: Pool): Picked {
  const find = (list: readonly Machine[], name: string) => list.find((m) => m.metadata.name === name)
  const machines = names.toSorted()
  const unmatched = names.find((n) => find(matching, n) === undefined)
  if (unmatched !== undefined) return { machines, lack: `the selector does not match ${unmatched}`, isWithout: true }
  const unwell = names.find((n) => find(well, n) === undefined)
  if (unwell !== undefined) return { machines, lack: `${unwell} is not well` }
  const mine = well.filter((m) => names.includes(m.metadata.name ?? ''))
  const misfit = firstMisfit(mine, everAll)
  return { machines, lack: misfit, ...(misfit !== undefined && { isMisfit: true }) }
}
