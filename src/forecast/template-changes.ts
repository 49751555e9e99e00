// What a changed template of a MachineSet does to the machines that exist: how many take its labels, annotations and taints in place. Pure.
import type { MachineSet } from '#api/kinds/machine-set.ts'
import type { Machine } from '#api/kinds/machine.ts'
import { isBeingDeleted, nameOf } from '#api/schema/object-meta.ts'
import { jsonEqual } from '#lib/json.ts'
import { isObserved } from '#nodes/machine-node.ts'
import { isInService, isOwned } from '#controllers/machineset/seen.ts'
import { takenFrom } from '#controllers/machineset/template/taken.ts'

export interface TemplateChange {
  readonly set: string
  readonly machines: number
  /** Machines in service whose pods a taint evicts, each under a permit. */
  readonly evicts: number
  /** Machines that keep a value that a person gave them, and the keys. */
  readonly keeping: number
  readonly kept: readonly string[]
}

interface Pools {
  readonly machineSets: readonly MachineSet[]
  readonly machines: readonly Machine[]
}

/** `before`: as they are now. Only templates that differ from them are counted. */
export function templateChanges(
  { machineSets, machines }: Pools,
  before: readonly MachineSet[],
): readonly TemplateChange[] {
  return machineSets.flatMap((set): TemplateChange[] => {
    const old = before.find((b) => nameOf(b) === nameOf(set))
    if (jsonEqual(old?.spec.template, set.spec.template)) return []
    const taken = machines
      .filter((m) => isOwned(m, set) && !isBeingDeleted(m) && !isObserved(m))
      .map((now) => ({ now, ...takenFrom(set, now) }))
    const changed = taken.filter((t) => t.isChange)
    const keeping = taken.filter((t) => t.kept.length > 0)
    if (changed.length === 0) return []
    return [
      {
        set: nameOf(set),
        machines: changed.length,
        evicts: changed.filter((t) => t.evicts && isInService(t.now)).length,
        keeping: keeping.length,
        kept: [...new Set(keeping.flatMap((t) => t.kept))].toSorted(),
      },
    ]
  })
}
