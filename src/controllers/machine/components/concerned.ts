// Finds the machines affected by a change of a permit or a set. Pure. A permit and a slice name a hundred machines each and change with each of them.
// Waking all of them on each change would cause a hundred times a hundred reconciles.
import type { MachineComponentSet, Slice } from '#api/kinds/machine-component-set.ts'
import type { OperationPermit } from '#api/kinds/operation-permit.ts'
import { activeMachines } from '#api/protocol/part.ts'
import { jsonEqual } from '#lib/json.ts'
import { isOpen, isOpenForSwitch } from './desired.ts'

/** Machines for which the permit changed. A lease renewal affects none, and neither do the results of other machines. */
export function machinesOrdered(
  before: OperationPermit | undefined,
  now: OperationPermit | undefined,
): readonly string[] {
  const machines = ((now ?? before)?.spec.targets ?? []).filter((t) => t.kind === 'Machine')
  if (before === undefined || now === undefined) return machines.map((t) => t.name)
  const [old, fresh] = [answersOf(before), answersOf(now)]
  return machines.filter(({ uid }) => old(uid) !== fresh(uid)).map((t) => t.name)
}

function answersOf({ spec: { results = {} }, status }: OperationPermit): (uid: string) => string {
  const verdicts = new Map((status?.verdicts ?? []).map((v) => [v.target, v]))
  return (uid) => {
    // A result ends the permit for its target, whatever happens to the permit.
    const result = results[uid]
    if (result !== undefined) return result
    const { verdict, gate, seen } = verdicts.get(uid) ?? {}
    return [status?.phase, verdict, gate, seen].join('\n')
  }
}

/** The machines of changed slices, if only slices and counts changed. Undefined if every machine of the set is affected. */
export function movedMachines(before: MachineComponentSet, now: MachineComponentSet): Iterable<string> | undefined {
  const head = ({ spec, status }: MachineComponentSet) => [spec, status?.revisions, status?.observedGeneration]
  if (!jsonEqual(head(before), head(now))) return undefined
  const isIn = ({ status }: MachineComponentSet) => new Set(status?.slices)
  const [old, fresh] = [slicesOf(before, isIn(now)), slicesOf(now, isIn(before))]
  const moved = new Set<string>()
  for (const [one, other] of [
    [old, fresh],
    [fresh, old],
  ] as const)
    for (const [concern, machines] of one)
      for (const machine of machines) if (other.get(concern)?.has(machine) !== true) moved.add(machine)
  return moved
}

/** Keyed by the parts of a slice that matter to its machines. Progress of other machines and waits do not matter, and `same` slices did not change. */
function slicesOf({ status }: MachineComponentSet, same: ReadonlySet<Slice>): ReadonlyMap<string, ReadonlySet<string>> {
  const slices = new Map<string, Set<string>>()
  for (const slice of status?.slices ?? []) {
    if (same.has(slice)) continue
    const concern = concernOf(slice)
    const machines = slices.get(concern) ?? new Set()
    slices.set(concern, machines)
    for (const machine of activeMachines(slice)) machines.add(machine)
  }
  return slices
}

function concernOf({ component, version, config, phase, permit, startedAt, recovery }: Slice): string {
  const stage = isOpenForSwitch(phase) ? 'switch' : isOpen(phase) ? 'open' : 'ended'
  return [component, version, config, stage, permit, startedAt, recovery].join('\n')
}
