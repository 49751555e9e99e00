// Whether a machine's change is the last one that a slice waits for. Other events can be gathered, but the next step waits for this one. Pure.
import type { MachineComponentSet } from '#api/kinds/machine-component-set.ts'
import { isAttemptOver } from '#api/protocol/component-order.ts'
import { activeMachines, isActiveIn } from '#api/protocol/part.ts'
import type { Machine } from '#api/kinds/machine.ts'
import type { Slice } from '../seen.ts'

export function endsSlice(
  { status }: MachineComponentSet,
  before: Machine | undefined,
  now: Machine,
  machineNamed: (name: string) => Machine | undefined,
): boolean {
  const name = now.metadata.name ?? ''
  return (status?.slices ?? []).some(
    (slice) =>
      slice.phase === 'Switching' &&
      isActiveIn(slice, name) &&
      isOver(now, slice) &&
      !(before !== undefined && isOver(before, slice)) &&
      activeMachines(slice).every((other) => {
        const machine = other === name ? now : machineNamed(other)
        return machine === undefined || isOver(machine, slice)
      }),
  )
}

/** The agent has reported the result of the attempt. */
function isOver({ spec, status }: Machine, { component }: Slice): boolean {
  const order = spec.components?.find((c) => c.name === component)
  const report = status?.components?.find((c) => c.name === component)
  if (order === undefined) return report === undefined
  return isAttemptOver(order, report)
}
