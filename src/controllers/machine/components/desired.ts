// Decides which version of each component one machine should have. This is the only place that combines sets, slices, canaries and blocked revisions.
// Pure. A working machine changes only if a slice or a mark names it; everything else keeps its version. orders.ts orders the switches.
import { without } from '#lib/without.ts'
import { goesBefore } from '#nodes/placement/deciding-set.ts'
import { type Slice as SetSlice, machineComponentSet } from '#api/kinds/machine-component-set.ts'
import type { SlicePhase } from '#api/protocol/slice.ts'
import {
  type ComponentTarget,
  type ComponentVersion,
  isSameTarget,
  isSwitchOpen,
  readSliceTarget,
} from '#api/protocol/component-order.ts'
import type { ComponentOrder, ComponentStatus } from '#api/kinds/machine.ts'
import { isActiveIn, partOfSlice, partRef } from '#api/protocol/part.ts'
import { freshCopiesAfter } from '#api/protocol/fresh-copy.ts'
import { defined } from '#lib/defined.ts'

/** The parts of a set's slice that matter to its machines. */
export type Slice = Pick<
  SetSlice,
  | 'component'
  | 'version'
  | 'config'
  | 'step'
  | 'number'
  | 'phase'
  | 'permit'
  | 'machines'
  | 'released'
  | 'startedAt'
  | 'recovery'
>

/** One set's claim on a machine that its selector matches. */
export interface Claim {
  readonly set: string
  readonly priority: number
  /** The status covers the current spec. Otherwise its slices and blocks belong to an older spec. */
  readonly isCurrent: boolean
  readonly components: readonly (ComponentVersion & Pick<ComponentOrder, 'onRemoval'>)[]
  readonly slices: readonly Slice[]
  /** Components whose declared revision failed and is not offered. */
  readonly blocked: readonly string[]
  /** The last version that was good on all machines, if known. */
  readonly lastGood: readonly ComponentVersion[]
  /** The longest time that pods may ask a drain for. */
  readonly podWaitMs?: number
}

/** What a canary gives a machine that it marked. */
export interface Mark {
  readonly canary: string
  readonly components: readonly ComponentVersion[]
  readonly permits: readonly string[]
}

export interface DesiredInput {
  readonly machine: string
  /** The node has the taint for pending components, or does not exist yet, so nothing runs there that could be disrupted. */
  readonly isClosed: boolean
  /** Components are staged and compared with what is there, but not switched. */
  readonly isPreviewed?: boolean
  readonly current: readonly ComponentOrder[]
  readonly reports: readonly ComponentStatus[]
  readonly claims: readonly Claim[]
  readonly marks: readonly Mark[]
  /** Permits requested for this machine. Undefined: not read. */
  readonly asked?: ReadonlySet<string>
}

export function desiredComponents(input: DesiredInput): readonly ComponentOrder[] {
  const { current, claims, marks } = input
  const named = [current, ...claims.map((c) => c.components), ...marks.map((m) => m.components)]
  const names = [...new Set(named.flat().map((c) => c.name))].sort()
  return names.flatMap((name) => desiredComponent(input, name) ?? [])
}

function desiredComponent(input: DesiredInput, name: string): ComponentOrder | undefined {
  const { current, reports, claims, marks } = input
  const entry = current.find((c) => c.name === name)
  // The agent may be about to act on it, and it finishes what it started. Another order comes only after this one has ended.
  const report = reports.find((r) => r.name === name)
  if (entry !== undefined && isOrdered(entry, report)) return entry
  const claim = winner(claims, name, entry)
  const setRef = claim?.set
  const mark = markOf(marks, name)
  if (mark !== undefined) {
    const next = entry === undefined ? fresh(mark.wanted) : retargeted(entry, mark.wanted)
    return leavingAs(referring(next, setRef, mark.canary), claim)
  }
  // No set or canary claims it any more, so it stays: removing a running component is a disruption without a permit. A component that was never
  // installed runs nowhere.
  if (claim === undefined) return entry && !isNotInstalled(report) ? referring(entry, undefined, undefined) : undefined
  const slice = openSlice(input, claim, name)
  const target = slice === undefined ? targetOf(input, claim, name, entry, report) : versionOfSlice(claim, slice)
  if (entry === undefined)
    return target && leavingAs(referring(forSlice(fresh(target), claim, slice), setRef, undefined), claim)
  const moved = target === undefined ? entry : retargeted(entry, target)
  const next = slice === undefined ? moved : retried(moved, entry, report, slice, input.asked)
  return leavingAs(
    referring(next.attempt === entry.attempt ? next : forSlice(next, claim, slice), setRef, undefined),
    claim,
  )
}

/** According to its agent. */
const isNotInstalled = (report: ComponentStatus | undefined): boolean =>
  report !== undefined && report.version === undefined && NOT_STARTED.has(report.state)

const NOT_STARTED: ReadonlySet<ComponentStatus['state']> = new Set(['Fetching', 'Staged', 'Failed'])

/** Only the set declares how it is removed. A change takes effect without a switch. */
function leavingAs(entry: ComponentOrder, claim: Claim | undefined): ComponentOrder {
  const declared = claim?.components.find((c) => c.name === entry.name)?.onRemoval
  if (declared === entry.onRemoval) return entry
  const { onRemoval: _, ...rest } = entry
  return declared === undefined ? rest : { ...rest, onRemoval: declared }
}

/** Records which slice the attempt is for: a later slice may retry, this one may not. Node clocks are not used. */
function forSlice(entry: ComponentOrder, { set }: Claim, slice: Slice | undefined): ComponentOrder {
  const rest = without(entry, 'slice', 'part')
  if (slice === undefined) return rest
  const part = partRef(partOfSlice({ kind: machineComponentSet.kind, name: set }, slice))
  return { ...rest, ...defined({ slice: slice.startedAt }), part }
}

/** The one set that owns the component. */
export function winner(claims: readonly Claim[], name: string, entry: ComponentOrder | undefined): Claim | undefined {
  const speaking = claims.filter((c) => c.components.some((w) => w.name === name))
  if (speaking.length < 2) return speaking[0]
  const named = (c: Claim) => ({ name: c.set, priority: c.priority })
  return speaking.toSorted((a, b) => (goesBefore(named(a), named(b), entry?.setRef) ? -1 : 1))[0]
}

function markOf(
  marks: readonly Mark[],
  name: string,
): { readonly canary: string; readonly wanted: ComponentVersion } | undefined {
  const byName = [...marks].sort((a, b) => (a.canary < b.canary ? -1 : 1))
  for (const { canary, components } of byName) {
    const wanted = components.find((c) => c.name === name)
    if (wanted !== undefined) return { canary, wanted }
  }
  return undefined
}

const OPEN: ReadonlySet<SlicePhase> = new Set(['Planned', 'AwaitingPermit', 'Switching', 'Inspecting', 'Soaking'])

export const isOpen = (phase: SlicePhase): boolean => OPEN.has(phase)

/** Its machines may get orders. */
export const isOpenForSwitch = (phase: SlicePhase): boolean => phase === 'AwaitingPermit' || phase === 'Switching'

/**
 * The open slice that names the machine and gives it a version that its set still wants. The latest one: a machine that lost its version while its slice is
 * inspected gets another slice, and only that one has a permit.
 */
export function openSlice(input: Pick<DesiredInput, 'machine'>, claim: Claim, name: string): Slice | undefined {
  if (!claim.isCurrent) return undefined
  return claim.slices.findLast(
    (w) =>
      w.component === name && isOpen(w.phase) && isActiveIn(w, input.machine) && versionOfSlice(claim, w) !== undefined,
  )
}

/**
 * The target of a slice, exactly as decided. The set only confirms that it still wants it. A slice that is being given up has no target, so nothing
 * new starts.
 */
export function targetOfSlice({ components, lastGood }: Claim, slice: Slice): ComponentTarget | undefined {
  const target = readSliceTarget(slice)
  const wanted = slice.recovery === undefined ? [components] : [components, lastGood]
  const isIn = (list: readonly ComponentVersion[]) =>
    target.version === undefined ? list.every((w) => w.name !== target.name) : list.some((w) => isSameTarget(w, target))
  return wanted.some(isIn) ? target : undefined
}

/** A removal is not a version. It is ordered elsewhere. */
function versionOfSlice(claim: Claim, slice: Slice): ComponentVersion | undefined {
  const target = targetOfSlice(claim, slice)
  return target?.version === undefined ? undefined : target
}

/** Without a slice: the version for a new machine, or the one to return to if the prepared version will never be ordered. */
function targetOf(
  { isClosed, isPreviewed = false }: DesiredInput,
  { components, blocked, lastGood }: Claim,
  name: string,
  entry: ComponentOrder | undefined,
  report: ComponentStatus | undefined,
): ComponentVersion | undefined {
  const declared = components.find((c) => c.name === name)
  const good = lastGood.find((c) => c.name === name)
  const offered = blocked.includes(name) ? good : declared
  // Once any version runs, even on a node that is still being set up, another version needs an ordinary switch.
  if ((isClosed || isPreviewed) && report?.version === undefined) return offered
  if (entry === undefined || offered === undefined || isOrdered(entry, report) || isInUse(entry, report))
    return undefined
  return offered.version === report?.version ? offered : undefined
}

/** It is to switch, and the result is not reported. */
export const isOrdered = (entry: ComponentOrder, report: ComponentStatus | undefined): boolean =>
  entry.switch?.attempt === entry.attempt && isSwitchOpen(entry, report)

const RUNNING: ReadonlySet<string> = new Set(['Switching', 'Probing', 'Healthy', 'Degraded'])

/** The agent runs, or is about to run, exactly this attempt. */
const isInUse = (entry: ComponentOrder, report: ComponentStatus | undefined): boolean =>
  report !== undefined && isReportOf(report, entry) && RUNNING.has(report.state)

/**
 * The report belongs to the current order. A report without an attempt does not, or a pending order would be withdrawn because of it. Rollouts count
 * such a report for the current order.
 */
export const isReportOf = (report: ComponentStatus, entry: ComponentOrder): boolean =>
  report.desired === entry.version && report.attempt === entry.attempt

const ENDED_BADLY: ReadonlySet<string> = new Set(['RolledBack', 'Failed'])

/** A different slice with the same target is a retry: of a failed attempt, or a fresh copy of what was changed on the node. */
function retried(
  next: ComponentOrder,
  entry: ComponentOrder,
  report: ComponentStatus | undefined,
  { startedAt, permit = '' }: Slice,
  asked: DesiredInput['asked'],
): ComponentOrder {
  if (next.attempt !== entry.attempt || report === undefined || startedAt === undefined) return next
  if (!isReportOf(report, entry) || entry.slice === startedAt) return next
  if (ENDED_BADLY.has(report.state)) return again(next)
  const isDrifted = report.state === 'Healthy' && report.drifted !== undefined
  // A slice that requests its permit again keeps its finished machines. The new permit does not include them.
  return isDrifted && asked?.has(permit) !== false
    ? { ...again(next), fresh: freshCopiesAfter(entry, startedAt) }
    : next
}

const fresh = ({ name, version, config }: ComponentVersion): ComponentOrder => ({
  name,
  version,
  ...defined({ config }),
  attempt: 1,
})

/** Attempts only increase, so that an agent never confuses a later order with an earlier failed one. */
function retargeted(entry: ComponentOrder, wanted: ComponentVersion): ComponentOrder {
  if (entry.version === wanted.version && entry.config === wanted.config) return entry
  return { ...fresh(wanted), attempt: entry.attempt + 1 }
}

function again(entry: ComponentOrder): ComponentOrder {
  const { switch: _, ...rest } = entry
  return { ...rest, attempt: entry.attempt + 1 }
}

/** The same object if nothing changes, as for most components of a machine. */
function referring(entry: ComponentOrder, setRef: string | undefined, canaryRef: string | undefined): ComponentOrder {
  if (entry.setRef === setRef && entry.canaryRef === canaryRef) return entry
  const { setRef: _set, canaryRef: _canary, ...rest } = entry
  return { ...rest, ...defined({ setRef, canaryRef }) }
}
