// Which of several sets decides about a component on a machine. Used by the set controller, the machine controller and the gates of sync. Pure.
import type { MachineComponentSet } from '#api/kinds/machine-component-set.ts'
import type { ComponentOrder } from '#api/kinds/machine.ts'
import type { Selector } from '#kube/selector.ts'
import { readSelector } from './selecting.ts'

export interface SelectingSet {
  readonly set: MachineComponentSet
  readonly selector: Selector
}

/** A set with an unreadable selector manages no machine. */
export function selecting(set: MachineComponentSet): readonly SelectingSet[] {
  const read = readSelector(set.spec.selector)
  return read.kind === 'Selector' ? [{ set, selector: read.selector }] : []
}

interface Contender {
  readonly name: string
  readonly priority: number
}

export const contender = ({ metadata, spec }: MachineComponentSet): Contender => ({
  name: metadata.name ?? '',
  priority: spec.priority,
})

/** The higher priority wins. Among equals, the set that already decides, then the first by name. */
export function goesBefore(a: Contender, b: Contender, decidedBy: string | undefined): boolean {
  if (a.priority !== b.priority) return a.priority > b.priority
  if (b.name === decidedBy) return false
  return a.name === decidedBy || a.name < b.name
}

/** By component: which of the sets that select a machine decides about it. `entries`: what the machine is ordered so far. */
export function decidingSets(
  own: readonly SelectingSet[],
  entries: readonly ComponentOrder[] = [],
): ReadonlyMap<string, MachineComponentSet> {
  const decidedBy = new Map(entries.map((e) => [e.name, e.setRef]))
  const deciding = new Map<string, MachineComponentSet>()
  for (const { set } of own)
    for (const { name } of set.spec.components) {
      const other = deciding.get(name)
      if (other === undefined || goesBefore(contender(set), contender(other), decidedBy.get(name)))
        deciding.set(name, set)
    }
  return deciding
}
