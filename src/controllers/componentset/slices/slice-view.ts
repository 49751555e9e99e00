// The current state of one slice: the result of each machine, and whether any is between two versions.
import { type ComponentTarget, readSliceTarget } from '#api/protocol/component-order.ts'
import type { OperationPermit } from '#api/kinds/operation-permit.ts'
import { activeMachines } from '#api/protocol/part.ts'
import { isLetGo } from '#api/protocol/let-go.ts'
import type { TargetResult } from '#permits/permits.ts'
import { type Reading, type Standing, endedByAnother, isLost, standingOf } from '../members/reading.ts'
import type { Rules } from './rules.ts'
import type { Slice, SliceDecision } from '../seen.ts'

type End = TargetResult | 'Lost'

export interface SliceMachine {
  readonly name: string
  readonly reading: Reading | undefined
  readonly standing: Standing | undefined
  /** The UID in the permit. Undefined for a machine that was done before the permit was requested. */
  readonly targetUid: string | undefined
  /** Already written into the permit. */
  readonly result: TargetResult | undefined
  /** How its part ended, as far as known here. */
  readonly end: End | undefined
  readonly isSwitching: boolean
  /** The permit is granted for other machines, but not yet for this one. */
  readonly isUngranted: boolean
  /** Ready, and waits for this component, which is to take effect with the same reboot. */
  readonly awaits: string | undefined
  /** A hold, an outage or a closed window: nothing new starts. */
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
  /** The component whose reboot the machine is to share, and which is not ready. */
  readonly awaitedBy: (reading: Reading, slice: Slice) => string | undefined
  /** Many machines are silent at once. The silence does not count against any version. */
  readonly isOutage: boolean
  readonly nameOfStep: (slice: SliceDecision) => string
}

export function viewSlice(
  slice: Slice,
  permit: OperationPermit | undefined,
  around: Surroundings,
  isGivenUp: boolean,
): SliceView {
  const about: SliceAbout = {
    slice,
    permit,
    wanted: readSliceTarget(slice),
    index: around.indexOf(slice.component),
    targets: firstBy(permit?.spec.targets ?? [], (t) => t.name),
    verdicts: firstBy(permit?.status?.verdicts ?? [], (v) => v.target),
    isGivenUp,
  }
  const machines = activeMachines(slice).map((name) => viewMachine(name, about, around))
  return { slice, permit, machines, isAnySwitching: machines.some((m) => m.isSwitching) }
}

/** What is the same for all machines of a slice; their parts of the permit by name, since a slice has up to a hundred. */
interface SliceAbout {
  readonly slice: Slice
  readonly permit: OperationPermit | undefined
  readonly wanted: ComponentTarget
  readonly index: number
  readonly targets: ReadonlyMap<string, OperationPermit['spec']['targets'][number]>
  /** By UID of the target; undefined: of the whole permit. */
  readonly verdicts: ReadonlyMap<string | undefined, Verdict>
  readonly isGivenUp: boolean
}

type Verdict = NonNullable<NonNullable<OperationPermit['status']>['verdicts']>[number]

function firstBy<K, T>(list: readonly T[], keyOf: (one: T) => K): ReadonlyMap<K, T> {
  const found = new Map<K, T>()
  for (const one of list) if (!found.has(keyOf(one))) found.set(keyOf(one), one)
  return found
}

function viewMachine(
  name: string,
  { slice, permit, wanted, index, targets, verdicts, isGivenUp }: SliceAbout,
  around: Surroundings,
): SliceMachine {
  const target = targets.get(name)
  const found = around.readingOf(name)
  // Another machine of the same name is not the requested one.
  const reading = target !== undefined && found?.uid !== target.uid ? undefined : found
  const standing = reading && standingOf(reading, index, wanted)
  const result = target && permit?.spec.results?.[target.uid]
  const isUnavailable = reading !== undefined && isLost(reading, around.now)
  const isHalted = reading !== undefined && around.isHalted(reading, slice)
  const verdict = verdicts.get(target?.uid)?.verdict
  const isUngranted = verdict === 'Waiting'
  const awaits = reading && around.awaitedBy(reading, slice)
  const base = { name, reading, standing, targetUid: target?.uid, result, isUngranted, awaits, isHalted }
  const isSwitching = standing === 'Switching' && !isUnavailable
  if (result !== undefined) return { ...base, end: result, isSwitching }
  // Released before a controller crash. It gets no further order under this permit.
  const wasLetGo = reading !== undefined && isLetGo(reading.machine, permit?.metadata.uid ?? '')
  // A higher-priority set or a canary took it over. This set's order will not reach it.
  const isOthers = standing === 'Canary' || (reading !== undefined && around.isOthers(slice.component, reading))
  const isDropped = isGivenUp || isHalted || wasLetGo || isOthers || verdict === 'Denied' || !around.isMember(name)
  return {
    ...base,
    end: endOf(reading, standing, isDropped, isUnavailable, around, { index, startedAt: slice.startedAt }),
    isSwitching,
  }
}

/** Describes the slice's target for people. */
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
  // Changed on the host since this slice's attempt. Its part is over, and the next slice decides again.
  if (standing === 'Drifted' && reading.orders[index]?.slice === startedAt) return 'Succeeded'
  if (rules.isBlamed(standing, reading)) return 'Failed'
  if (endedByAnother(reading, index, startedAt)) return 'Released'
  // Silent: no result can be written, and its slot stays until it sends heartbeats again. It stops blocking the slice once it is lost, or if it never
  // started.
  if (reading.health === 'Silent') return isUnavailable || standing !== 'Switching' ? 'Lost' : undefined
  if (standing === 'Switching') return undefined
  // Already removed from the machine's spec. It ends when the agent stops reporting it.
  if (standing === 'Pending' && reading.orders[index] === undefined) return undefined
  if (isDropped || isOutOfUse(reading)) return 'Released'
  return undefined
}

/** Effects of the machine's own switch, such as a drain or a NotReady Node, are no reason to drop it. */
const isOutOfUse = ({ health, machine }: Reading): boolean =>
  health === 'Leaving' ||
  health === 'Joining' ||
  machine.status?.phase === 'Repairing' ||
  machine.status?.phase === 'Failed'

/** Lost between two versions counts as failed, unless many machines are silent at once. */
export const isFailed = ({ end, standing }: SliceMachine, isOutage: boolean): boolean =>
  end === 'Failed' || (end === 'Lost' && standing === 'Switching' && !isOutage)
