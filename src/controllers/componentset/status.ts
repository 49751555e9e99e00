// The status of a set: its progress, what it waits for, and why. Pure; equal inputs give equal statuses.
import type { Reason } from '#api/catalogue.ts'
import { counted } from '#lib/counted.ts'
import { setConditions } from '#kube/conditions.ts'
import { lastFailure } from './revisions/blocks.ts'
import { versionsOf } from './revisions/versions.ts'
import { MARKS, type Survey } from './members/candidates.ts'
import { type Context, closedFor, isAnyUnderWay, isOpen } from './plan-context.ts'
import { competingSetFor } from './members/members.ts'
import type { Problem } from '#nodes/placement/problem.ts'
import type { Blocked, Status, Slice } from './seen.ts'
import { type Wait, emptyUntil, waitingSince, withAdvice } from './reporting/wait.ts'
import { retryCommand, unblockAdvice } from './reporting/unblock.ts'
import { defined } from '#lib/defined.ts'

const MOST_SLICES = 64
const MOST_LISTED = 200
const MOST_CLASSES = 64
const MOST_BLOCKED = 10

export interface Progress {
  readonly surveys: readonly Survey[]
  readonly slices: readonly Slice[]
  readonly blocks: readonly Blocked[]
  /** Why components opened nothing. */
  readonly waits: readonly Wait[]
}

type Counts = NonNullable<Status['counts']>

export function statusOf(context: Context, progress: Progress): Status {
  const { seen, now, revisions } = context
  const before = seen.set.status
  const counts = countsOf(context, progress)
  const isComplete = isDone(context, progress, counts)
  const update = revisions.update.metadata.name ?? ''
  const current = isComplete && isRunning(progress) ? update : before?.revisions?.current
  const wait = isComplete ? undefined : waitOf(context, progress, counts)
  const blocked = progress.blocks.slice(-MOST_BLOCKED)
  const phase = phaseOf(context, progress, isComplete)
  return {
    ...defined({ observedGeneration: seen.set.metadata.generation }),
    phase,
    revisions: { ...defined({ current }), update, ...(blocked.length > 0 && { blocked }) },
    // Machines that come to the set from elsewhere later start at the bottom of the ladder.
    slices: isComplete ? [] : kept(progress.slices),
    counts,
    skipped: skippedOf(progress),
    coverage: classesTried(context, progress),
    consistency: consistencyOf(context, progress),
    versions: versionsOf(context.revisions, seen.set),
    ...(wait !== undefined && { waitingFor: waitingSince(before?.waitingFor, wait, now) }),
    conditions: conditionsOf(context, progress, counts, wait),
  }
}

/** Open slices first. Ended slices are for the reader only. */
function kept(slices: readonly Slice[]): readonly Slice[] {
  const key = (w: Slice) => [w.component, w.step, w.number] as const
  const byKey = (a: Slice, b: Slice) => {
    const [x, y] = [key(a), key(b)]
    return x[0] < y[0] ? -1 : x[0] > y[0] ? 1 : x[1] - y[1] || x[2] - y[2]
  }
  const latest = new Map<string, number>()
  for (const w of slices) latest.set(w.component, Math.max(latest.get(w.component) ?? 0, w.step))
  const isLatest = (w: Slice) => w.step === latest.get(w.component)
  // Keep one slice of each passed step: it shows where the ladder is, even if the whole next step is dropped.
  const passed = new Map<string, Slice>()
  for (const w of slices)
    if (w.phase === 'Passed' && w.step > (passed.get(w.component)?.step ?? -1)) passed.set(w.component, w)
  const open = new Set(slices.filter((w) => isOpen(w) && isLatest(w)).map((w) => w.component))
  const isWorth = (w: Slice): boolean => {
    if (isOpen(w) || w.phase === 'Failed' || passed.get(w.component) === w) return true
    return isLatest(w) && open.has(w.component)
  }
  const worth = slices.filter(isWorth)
  const ordered = [...worth.filter(isOpen), ...worth.filter((w) => !isOpen(w))]
  return ordered.slice(0, MOST_SLICES).toSorted(byKey)
}

function countsOf({ members }: Context, { surveys }: Progress): Counts {
  const counts = { total: members.length, updated: 0, healthy: 0, failed: 0 }
  const skipped = new Set<string>()
  for (const survey of surveys) for (const name of survey.skipped.keys()) skipped.add(name)
  for (let i = 0; i < members.length; i++) {
    let isUpdated = true
    let isHealthy = true
    let isFailed = false
    for (const { marks } of surveys) {
      const mark = marks[i]
      if (mark === MARKS.failed) isFailed = true
      if (mark === MARKS.othersDecide) continue
      if (mark !== MARKS.healthy) isHealthy = false
      if (mark !== MARKS.healthy && mark !== MARKS.updated) isUpdated = false
    }
    if (isUpdated) counts.updated++
    if (isHealthy) counts.healthy++
    if (isFailed) counts.failed++
  }
  return { ...counts, skipped: skipped.size }
}

/** If other sets decide about it on every machine, it was never tried and is no version to return to. */
const isRunning = ({ surveys }: Progress): boolean =>
  surveys.every(({ updated, track }) => updated > 0 || track.isProven || track.isRemoval)

/** Done, and a version to return to: nothing is open or left to do, and most counting machines run it. */
function isDone(context: Context, progress: Progress, counts: Counts): boolean {
  const { problem, counting, blocks } = context
  if (problem !== undefined || blocks.length > 0 || progress.blocks.length > 0 || counting === 0) return false
  if (progress.slices.some(isOpen) || counts.updated * 2 <= counting || isOutOfSight(context, progress)) return false
  if (isAnyUnderWay(context, progress.surveys)) return false
  return progress.surveys.every((s) => s.candidates + s.unmet === 0)
}

/** One or two silent machines catch up when they return. But if a silent zone still has the old version, the rollout is not complete. */
const isOutOfSight = ({ outage, members }: Context, { surveys }: Progress): boolean =>
  outage !== undefined &&
  members.some((m, i) => m.health === 'Silent' && surveys.some(({ marks }) => marks[i] === MARKS.behind))

function phaseOf({ pause }: Context, { blocks }: Progress, isComplete: boolean): NonNullable<Status['phase']> {
  if (isComplete) return 'Complete'
  if (pause !== undefined) return 'Paused'
  return blocks.length > 0 ? 'Blocked' : 'Progressing'
}

/** Always has an answer while the set is not done. */
function waitOf(context: Context, { surveys, slices, blocks, waits }: Progress, counts: Counts): Wait {
  if (context.members.length === 0 && context.problem === undefined)
    return {
      predicate: 'NoMachines',
      seen: 'the selector matches no machine',
      unblock: 'a commit corrects the selector, or machines get its labels: kubenode get machines --show-labels',
    }
  const closed = closedFor(
    context,
    surveys.some((s) => s.isGoingBack),
  )
  if (closed !== undefined) return closed
  const open = slices.filter(isOpen).flatMap((w) => (w.waitingFor === undefined ? [] : [{ w, of: w.waitingFor }]))
  // If several waits are open, show the one that ends at a known time: the others resolve on their own.
  const first = open.find(({ of }) => of.predicate === 'RateExceeded') ?? open[0]
  if (first !== undefined) {
    const { w, of } = first
    return {
      predicate: of.predicate as Reason,
      seen: `${w.component} ${context.nameOfStep(w)}: ${of.seen ?? ''}`,
      unblock: of.unblock ?? '',
    }
  }
  const [blocked] = blocks
  if (blocked !== undefined)
    return {
      predicate: 'RevisionFailed',
      seen: `${blocked.component}: ${blocked.reason}`,
      unblock: unblockAdvice(context, blocked),
    }
  if (waits[0] !== undefined) return waits[0]
  return leftOver(context, surveys, counts)
}

/** The rollout is over except for failed machines, and their number is within the limit. It does not continue on its own. */
function onlyFailed({ members }: Context, { surveys, slices, blocks }: Progress): string | undefined {
  if (blocks.length > 0 || slices.some(isOpen)) return undefined
  if (surveys.some((s) => s.candidates + s.unmet + s.skipped.size > 0)) return undefined
  return failedText(members, surveys)
}

function failedText(members: Context['members'], surveys: readonly Survey[]): string | undefined {
  const failed = surveys.find((s) => s.failed > 0)
  if (failed === undefined) return undefined
  return `${failed.failed} failed, such as ${lastFailure(failed, members) ?? 'a machine that was deleted since'}`
}

function leftOver(context: Context, surveys: readonly Survey[], { skipped, updated, total }: Counts): Wait {
  const { members, readingOf } = context
  const all = surveys.flatMap((s) => [...s.skipped])
  const [one] = all
  const failed = one === undefined ? failedText(members, surveys) : undefined
  if (failed !== undefined)
    return {
      predicate: 'RolledBackByAgent',
      seen: `${updated} of ${counted(total, 'machine')} updated; ${failed}`,
      unblock: `run ${retryCommand(context.seen)}`,
    }
  const isJoining = all.every(([name]) => readingOf(name)?.isAwaited === true)
  if (one !== undefined && isJoining)
    return {
      predicate: 'WaitingForOther',
      seen: `${counted(skipped, 'machine is', 'machines are')} still joining, such as ${one[0]}`,
      unblock: 'their agents join; for one machine run kubenode why machine/NAME',
    }
  if (one !== undefined)
    return {
      predicate: 'SafetyReadingUnknown',
      seen: `${counted(skipped, 'machine is', 'machines are')} skipped; ${one[0]}: ${one[1]}`,
      unblock: 'the machines recover; they are then updated automatically',
    }
  const joining = members.filter((m) => m.health === 'Joining').map((m) => m.name)
  return joining[0] === undefined
    ? {
        predicate: 'WaitingForOther',
        seen: `${updated} of ${counted(total, 'machine is', 'machines are')} updated`,
        unblock: 'the machines finish switching',
      }
    : {
        predicate: 'WaitingForOther',
        seen: `${counted(joining.length, 'machine is', 'machines are')} being installed, such as ${joining[0]}`,
        unblock: `their components are installed; for one machine run kubenode why machine/${joining[0]}`,
      }
}

function skippedOf({ surveys }: Progress): NonNullable<Status['skipped']> {
  const reasons = new Map<string, string>()
  for (const survey of surveys)
    for (const [machine, reason] of survey.skipped) if (!reasons.has(machine)) reasons.set(machine, reason)
  return [...reasons]
    .toSorted(([a], [b]) => (a < b ? -1 : 1))
    .slice(0, MOST_LISTED)
    .map(([machine, reason]) => ({ machine, reason }))
}

function classesTried({ members }: Context, { surveys }: Progress): NonNullable<Status['coverage']> {
  const classes = new Map<string, { total: number; healthy: number }>()
  for (const [i, { class: name }] of members.entries()) {
    const entry = classes.get(name) ?? { total: 0, healthy: 0 }
    classes.set(name, entry)
    entry.total++
    if (surveys.every(({ marks }) => marks[i] === MARKS.healthy || marks[i] === MARKS.othersDecide)) entry.healthy++
  }
  return [...classes]
    .toSorted(([a], [b]) => (a < b ? -1 : 1))
    .slice(0, MOST_CLASSES)
    .map(([name, { total, healthy }]) => ({ class: name, total, healthy }))
}

const consistencyOf = ({ counting }: Context, { surveys }: Progress): NonNullable<Status['consistency']> =>
  surveys
    .filter(({ track }) => !track.isRemoval)
    .map(({ track, updated }) => ({
      component: track.component,
      consistent: Math.min(updated, counting),
      total: counting,
    }))

function conditionsOf(
  context: Context,
  progress: Progress,
  counts: Counts,
  wait: Wait | undefined,
): NonNullable<Status['conditions']> {
  const { seen, now, pause } = context
  const isComplete = wait === undefined
  const { generation } = seen.set.metadata
  const observed = generation === undefined ? {} : { observedGeneration: generation }
  const [blocked] = progress.blocks
  const conflict = conflictOf(context)
  const is = (b: boolean) => (b ? ('True' as const) : ('False' as const))
  const why = wait?.predicate ?? 'AllUpdated'
  const message = wait?.seen ?? doneMessage(context, progress, counts)
  const stalled = stallOf(context, progress)
  const isStalled = stalled !== undefined
  const wanted = [
    { type: 'Ready', status: is(isComplete), reason: isComplete ? 'AllUpdated' : why, message },
    { type: 'Reconciling', status: is(!isComplete && !isStalled), reason: why, message },
    {
      type: 'Stalled',
      status: is(isStalled),
      reason: stalled?.reason ?? 'Progressing',
      message: stalled?.message ?? 'no manual intervention needed',
    },
    { type: 'RolledOut', status: is(isComplete), reason: isComplete ? 'AllUpdated' : why, message },
    {
      type: 'RevisionBlocked',
      status: is(blocked !== undefined),
      reason: blocked === undefined ? 'AsDeclared' : 'RevisionFailed',
      message: blocked === undefined ? 'no declared version is blocked' : `${blocked.component}: ${blocked.reason}`,
    },
    {
      type: 'Conflicting',
      status: is(conflict !== undefined),
      reason: conflict === undefined ? 'AsDeclared' : 'SetConflict',
      message: conflict ?? 'no other set takes precedence on its machines',
    },
    {
      type: 'Paused',
      status: is(pause !== undefined),
      reason: pause === undefined ? 'AsDeclared' : pause.spec.effect === 'Freeze' ? 'HoldFreeze' : 'HoldPause',
      message:
        pause === undefined ? 'no hold pauses or freezes the set' : `hold ${pause.metadata.name}: ${pause.spec.reason}`,
    },
  ]
  return setConditions(
    seen.set.status?.conditions,
    wanted.map((c) => ({ ...c, ...observed })),
    now,
  )
}

/** Skipped machines are not part of a rollout and do not block it. The message of a complete rollout still names them. */
function doneMessage(
  { counting, members, seen }: Context,
  { surveys }: Progress,
  { updated, skipped }: Counts,
): string {
  const failed = failedText(members, surveys)
  if (failed !== undefined)
    return withAdvice(`${updated} of ${counted(counting, 'machine')} updated; ${failed}`, `run ${retryCommand(seen)}`)
  const [one] = surveys.flatMap((s) => [...s.skipped])
  if (one === undefined || updated >= counting) return 'all eligible machines are updated'
  const [machine, why] = one
  return `${updated} of ${counted(counting, 'machine is', 'machines are')} updated; skipped for now: ${skipped}, such as ${machine}: ${why}`.slice(
    0,
    200,
  )
}

/** Problems that only a person can fix. A missing reading comes back on its own. */
function stallOf(context: Context, progress: Progress): Problem | undefined {
  const { problem, members, seen, now } = context
  const { blocks, slices } = progress
  if (problem !== undefined && problem.reason !== 'SafetyReadingUnknown') return problem
  const [blocked] = blocks
  if (blocked !== undefined && !slices.some(isOpen))
    return {
      reason: 'RevisionFailed',
      message: withAdvice(`${blocked.component}: ${blocked.reason}`, unblockAdvice(context, blocked)),
    }
  const failed = onlyFailed(context, progress)
  if (failed !== undefined)
    return { reason: 'RolledBackByAgent', message: withAdvice(failed, `run ${retryCommand(seen)}`) }
  if (members.length === 0 && now >= emptyUntil(seen.set.status?.waitingFor))
    return { reason: 'NoMachines', message: 'the selector matches no machine; label machines or correct the selector' }
  return undefined
}

function conflictOf({ members, competing, seen, indexOf }: Context): string | undefined {
  for (const [component, others] of competing) {
    const at = indexOf.get(component) ?? -1
    const contested = members.flatMap((m) => competingSetFor(others, seen.set, m.machine, m.orders[at]?.setRef) ?? [])
    const [first] = contested
    if (first !== undefined)
      return `set ${first.set.metadata.name} (priority ${first.set.spec.priority}) takes precedence for ${component} on ${counted(contested.length, 'machine')}`
  }
  return undefined
}
