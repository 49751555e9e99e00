// One slice as it is now: what became of each of its machines, and whether any is between two versions.
import { readSliceTarget } from '#api/protocol/component-order.ts'
import type { OperationPermit } from '#api/kinds/operation-permit.ts'
import { activeMachines } from '#api/protocol/part.ts'
import { isLetGo } from '#api/protocol/let-go.ts'
import type { TargetResult } from '#permits/permits.ts'
import { type Reading, type Standing, isLost, standingOf } from '../members/reading.ts'
import type { Rules } from './rules.ts'
import type { Slice, SliceDecision } from '../seen.ts'

type End = TargetResult | 'Lost'

export interface SliceMachine {
  readonly name: string
  readonly reading: Reading | undefined
  readonly standing: Standing | undefined
  /** The UID that the permit names; none for a machine that was done before the permit was requested. */
  readonly targetUid: string | undefined
  /** Written in the permit already. */
  readonly result: TargetResult | undefined
  /** How its part ended, as far as it is known here. */
  readonly end: End | undefined
  readonly isSwitching: boolean
  /** The permit is granted for others, and not yet for this one. */
  readonly isUngranted: boolean
  /** A hold, an outage or a closed window: what has not begun does not begin. */
  readonly isHalted: boolean
}

export interface SliceView {
  readonly slice: Slice
  readonly permit: OperationPermit | undefined
  readonly machines: readonly SliceMachine[]
  readonly isAnySwitching: boolean
}

export interface Surroundings {
  readonly readingOf: (machine: string) => Reading | undefined
  readonly isMember: (machine: string) => boolean
  readonly isOthers: (component: string, reading: Reading) => boolean
  readonly indexOf: (component: string) => number
  readonly rules: Rules
  readonly now: number
  readonly isHalted: (reading: Reading, slice: Slice) => boolean
  /** Many machines are silent at once: the silence counts against no version. */
  readonly isOutage: boolean
  readonly nameOfStep: (slice: SliceDecision) => string
}

export function viewSlice(
  slice: Slice,
  permit: OperationPermit | undefined,
  around: Surroundings,
  isGivenUp: boolean,
): SliceView {
  const machines = activeMachines(slice).map((name) => viewMachine(name, slice, permit, around, isGivenUp))
  return { slice, permit, machines, isAnySwitching: machines.some((m) => m.isSwitching) }
}

function viewMachine(
  name: string,
  slice: Slice,
  permit: OperationPermit | undefined,
  around: Surroundings,
  isGivenUp: boolean,
): SliceMachine {
  const target = permit?.spec.targets.find((t) => t.name === name)
  const found = around.readingOf(name)
  // Another machine of the same name is not the requested one.
  const reading = target !== undefined && found?.uid !== target.uid ? undefined : found
  const index = around.indexOf(slice.component)
  const standing = reading && standingOf(reading, index, readSliceTarget(slice))
  const result = target && permit?.spec.results?.[target.uid]
  const isUnavailable = reading !== undefined && isLost(reading, around.now)
  const isHalted = reading !== undefined && around.isHalted(reading, slice)
  const verdict = permit?.status?.verdicts?.find((v) => v.target === target?.uid)?.verdict
  const isUngranted = verdict === 'Waiting'
  const base = { name, reading, standing, targetUid: target?.uid, result, isUngranted, isHalted }
  const isSwitching = standing === 'Switching' && !isUnavailable
  if (result !== undefined) return { ...base, end: result, isSwitching }
  // Released before a controller crashed: it gets no further order under this permit.
  const wasLetGo = reading !== undefined && isLetGo(reading.machine, permit?.metadata.uid ?? '')
  // A set with higher priority, or a canary, took it over: this set's order will not reach it.
  const isOthers = standing === 'Canary' || (reading !== undefined && around.isOthers(slice.component, reading))
  const isDropped = isGivenUp || isHalted || wasLetGo || isOthers || verdict === 'Denied' || !around.isMember(name)
  return {
    ...base,
    end: endOf(reading, standing, isDropped, isUnavailable, around, { index, startedAt: slice.startedAt }),
    isSwitching,
  }
}

/** What a slice is about, in words. */
export function versionOf(slice: SliceDecision): string {
  const { name, version } = readSliceTarget(slice)
  return version === undefined ? `${name} (which leaves)` : `${name} ${version}`
}

function endOf(
  reading: Reading | undefined,
  standing: Standing | undefined,
  isDropped: boolean,
  isUnavailable: boolean,
  { rules }: Surroundings,
  { index, startedAt }: { readonly index: number; readonly startedAt: string | undefined },
): End | undefined {
  if (reading === undefined || standing === undefined) return 'Released'
  if (standing === 'Updated' || standing === 'Unhealthy') return 'Succeeded'
  // Changed on the host since the attempt of this slice: its part is over, and the next slice decides again.
  if (standing === 'Drifted' && reading.orders[index]?.slice === startedAt) return 'Succeeded'
  if (rules.isBlamed(standing, reading)) return 'Failed'
  // Silent: no result may be written for it, and its slot stays until it sends heartbeats. It does not block the slice once it is lost, or when it never began.
  if (reading.health === 'Silent') return isUnavailable || standing !== 'Switching' ? 'Lost' : undefined
  if (standing === 'Switching') return undefined
  // Already removed from the machine's spec: it ends when the agent no longer reports it.
  if (standing === 'Pending' && reading.orders[index] === undefined) return undefined
  if (isDropped || isOutOfUse(reading)) return 'Released'
  return undefined
}

/** What happens to a machine for the sake of its own switch (a drain, a Node that is not Ready) is no reason to drop it. */
const isOutOfUse = ({ health, machine }: Reading): boolean =>
  health === 'Leaving' ||
  health === 'Joining' ||
  machine.status?.phase === 'Repairing' ||
  machine.status?.phase === 'Failed'

/** Lost between two versions is as bad as failed, unless many are silent at once. */
export const isFailed = ({ end, standing }: SliceMachine, isOutage: boolean): boolean =>
  end === 'Failed' || (end === 'Lost' && standing === 'Switching' && !isOutage)
