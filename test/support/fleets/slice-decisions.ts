// A slice is decided once: the decision that a status published stays the same while the slice is in it.
import type { MachineComponentSetStatus, Slice } from '#api/kinds/machine-component-set.ts'
import { isSameTarget, readSliceTarget } from '#api/protocol/component-order.ts'
import { sliceName } from '#api/protocol/part.ts'
import { jsonEqual } from '#lib/json.ts'

type Status = MachineComponentSetStatus | undefined

const isSameKey = (a: Slice, b: Slice): boolean =>
  a.component === b.component && a.step === b.step && a.number === b.number

/** What a write changes of a decision that the status before it had; undefined where it changes none. A key of a slice to another target is used again. */
export function changedDecision(before: Status, now: Status): string | undefined {
  for (const slice of now?.slices ?? []) {
    const old = before?.slices?.find((s) => isSameKey(s, slice))
    if (old === undefined) continue
    const isSame = isSameTarget(readSliceTarget(old), readSliceTarget(slice))
    if (!isSame && old.permit === slice.permit) return `${sliceName(slice)} was to ${old.version ?? 'remove it'}`
    if (!isSame) continue
    if (!jsonEqual(old.machines, slice.machines))
      return `${sliceName(slice)} had ${old.machines.join(', ')} and has ${slice.machines.join(', ')}`
    if (old.recovery !== slice.recovery) return `${sliceName(slice)} changes its direction`
    const back = old.released?.find((m) => slice.released?.includes(m) !== true)
    if (back !== undefined) return `${sliceName(slice)} takes ${back} back`
  }
  return undefined
}
