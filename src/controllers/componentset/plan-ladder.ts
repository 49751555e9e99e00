// Decides the slices of one component: which advance, whether the step that they make up is left, and which open next.
import type { Notice } from '#runtime/reconcile-with.ts'
import { activeMachines } from '#api/protocol/part.ts'
import { timestamp } from '#lib/clock.ts'
import { counted } from '#lib/counted.ts'
import { parseDuration } from '#lib/duration.ts'
import type { SetAction } from './actions.ts'
import { firstFinding, inspectionsOf } from './inspection/inspect.ts'
import { isInspected } from './inspection/inspections.ts'
import type { ProbedStep } from './inspection/pod-probe.ts'
import type { Survey } from './members/candidates.ts'
import { type Reading, type Standing, isThere, standingOf } from './members/reading.ts'
import { type Context, closedFor, isAtWork, isOpen } from './plan-context.ts'
import { isBlamed, isOver, tallyOf } from './plan-failures.ts'
import { type Wait, fit } from './reporting/wait.ts'
import { targetIn } from './revisions/revisions.ts'
import { type Track, isSliceTo } from './revisions/tracks.ts'
import type { Blocked, Slice } from './seen.ts'
import { type GivenUp, type Tally, failedOf, moveSlice } from './slices/advance.ts'
import { MOST_OPEN, type Room, type Slices, askAgain, openSlice, placeOf } from './slices/open.ts'
import { type Ladder, joinable, laterTogether, rebootedBy } from './slices/shared-reboots.ts'
import { versionOf, viewSlice } from './slices/slice-view.ts'
import { moveStep } from './slices/steps.ts'
import { surroundings } from './slices/surroundings.ts'

/** Per-component results, accumulated as the plan walks the set. */
export interface Draft {
  readonly actions: SetAction[]
  readonly notices: Notice[]
  readonly blocks: Blocked[]
  readonly waits: Wait[]
  /** Machines of slices that this pass already opened for another component. */
  readonly taken: Set<string>
  /** Those of them that reboot. */
  readonly rebooting: Set<string>
  /** What uses the budget: read once, since several components may have to name it. */
  readonly example: () => string | undefined
  /** Slices of steps under inspection, with the machines that have the version. */
  readonly probed: ProbedStep[]
  free: number
  slices: Slices
}

interface MovedLadder extends Ladder {
  /** Slices that ask again for their permits. */
  readonly planned: readonly Slice[]
}

/** The slices of one component: running ones advance, and the step is inspected. */
export function movedSlices(context: Context, survey: Survey, draft: Draft): MovedLadder {
  const { track } = survey
  const tally = tallyOf(context, survey)
  const before = (context.seen.set.status?.slices ?? []).filter((w) => w.component === track.component)
  const moved: Slice[] = []
  for (const slice of before.filter((w) => isKept(w, track))) {
    const { slice: next, failure } = moveOne(context, slice, givenUpAs(slice, track), tally, draft)
    if (next !== undefined && !(failure !== undefined && !isBlamed(context, track))) moved.push(next)
    if (failure !== undefined) fail(context, track, failure, draft)
  }
  const spec = specToSwitch(context, track)
  if (isOver(context, track, moved, tally) && !hasJustFailed(track, draft)) fail(context, track, failedOf(tally), draft)
  if (hasJustFailed(track, draft))
    return { survey, slices: moved, planned: [], spec, place: undefined, isFailing: true }
  const { slices, planned } = inspectSteps(context, survey, moved, tally, draft)
  const isFailing = hasJustFailed(track, draft) || tally.failed > tally.allowed
  const place = placeOf(survey, slices, context.seen.set.spec.rollout.steps, context.counting)
  return { survey, slices, planned, spec, place, isFailing }
}

/** After a failure in this reconcile no further slice opens. The other running slices end in the next reconcile. */
export function nextSlices(context: Context, own: MovedLadder, all: readonly Ladder[], draft: Draft): readonly Slice[] {
  if (own.isFailing) return own.planned
  const later = own.planned.length > 0 ? undefined : laterTogether(own, all)
  if (later === undefined) return opens(context, own, draft)
  draft.waits.push(later)
  return []
}

/** A removal is as disruptive as the version it removes. */
function specToSwitch({ revisions, specOf }: Context, { target, component }: Track) {
  const isGoing = target !== undefined && target.version === undefined
  const of = isGoing ? targetIn(revisions.current, component) : target
  return specOf(component, of?.version)
}

const hasJustFailed = ({ component, blocked }: Track, { blocks }: Draft): boolean =>
  blocked === undefined && blocks.some((b) => b.component === component)

/** Ended entries are kept while they show where the ladder is, or why it stopped. */
function isKept(slice: Slice, track: Track): boolean {
  if (isOpen(slice)) return true
  if (slice.phase === 'Failed') return track.blocked !== undefined && isSliceTo(slice, track.declared)
  return slice.phase === 'Passed' && isSliceTo(slice, track.target)
}

function givenUpAs(slice: Slice, track: Track): GivenUp | undefined {
  if (isSliceTo(slice, track.target)) return undefined
  return track.blocked === undefined ? 'superseded' : 'blocked'
}

export function moveOne(context: Context, slice: Slice, givenUp: GivenUp | undefined, tally: Tally, draft: Draft) {
  const around = surroundings(context)
  const permit = context.seen.permits.get(slice.permit ?? '')
  const isGivenUp = givenUp !== undefined || tally.failed > tally.allowed
  const viewOf = () => viewSlice(slice, permit, around, isGivenUp)
  const moved = moveSlice(slice, viewOf, around, { rollout: context.seen.set.spec.rollout, tally, givenUp })
  draft.actions.push(...moved.actions)
  return moved
}

function fail(context: Context, track: Track, reason: string, draft: Draft): void {
  const { now, revisions } = context
  const { component } = track
  draft.notices.push({ reason: 'RevisionFailed', message: `${component}: ${reason}`, severity: 'Warning' })
  if (!isBlamed(context, track) || draft.blocks.some((b) => b.component === component)) return
  const revision = revisions.update.metadata.name ?? ''
  draft.blocks.push({ revision, component, since: timestamp(now), reason: fit(reason) })
}

function inspectSteps(context: Context, survey: Survey, slices: readonly Slice[], tally: Tally, draft: Draft) {
  const { track } = survey
  const planned = slices.filter((w) => w.phase === 'Planned')
  const rest = slices.filter((w) => w.phase !== 'Planned')
  const mine = rest.filter((w) => isSliceTo(w, track.target))
  const last = mine.reduce((most, w) => Math.max(most, w.step), -1)
  const inStep = mine.filter((w) => w.step === last)
  if (!inStep.some(isOpen)) return { slices: rest, planned }
  // Its machines no longer show anything: the step is taken again with others.
  if (inStep.every((w) => isInspected(w) || !isOpen(w)) && inStep.every((w) => isLeft(context, w, track)))
    return { slices: rest.filter((w) => !inStep.includes(w)), planned }
  const { rollout } = context.seen.set.spec
  const hasMore = survey.candidates > 0
  const place = placeOf(survey, slices, rollout.steps, context.counting)
  // Otherwise steps that wait for room for their other slices would wait for each other forever.
  const isCrowded = draft.slices.open >= MOST_OPEN && !inStep.some(isAtWork)
  const isFull = planned.length === 0 && !(!isCrowded && hasMore && place?.step === last)
  const tried = () =>
    inStep
      .flatMap(activeMachines)
      .flatMap((name) => context.readingOf(name) ?? [])
      .filter((r) => runs(r, track))
  const slack = Math.max(0, tally.allowed - tally.failed)
  const { nodes, inspectionResults, pendingInspections, probePods: pods } = context.seen
  const slice = inStep.some(isInspected) ? inStep[0] : undefined
  const finding =
    slice &&
    firstFinding(inspectionsOf(rollout), {
      slice,
      machines: tried(),
      nodes,
      inspectionResults,
      pendingInspections,
      pods,
      slack,
      now: context.now,
    })
  const moved = moveStep(inStep, {
    isFull,
    finding,
    isOutage: context.outage !== undefined,
    soakMs: track.isProven ? 0 : parseDuration(rollout.soak),
    now: context.now,
    rules: context.rules,
    nameOfStep: context.nameOfStep,
  })
  if (moved.failure !== undefined) fail(context, track, moved.failure, draft)
  draft.probed.push(...moved.slices.map((w) => ({ slice: w, machines: tried })))
  const others = rest.filter((w) => !inStep.includes(w))
  const kept =
    moved.failure !== undefined && !isBlamed(context, track)
      ? moved.slices.filter((w) => w.phase !== 'Failed')
      : moved.slices
  const next = [...others, ...kept]
  return { slices: next, planned }
}

/** Inspections cover machines that have the version. The others were skipped, or already counted as failed. */
function runs(reading: Reading, { index, target }: Track): boolean {
  const standing = target && standingOf(reading, index, target)
  return isThere(standing)
}

/** All its machines were deleted, or have another version since. */
const isLeft = (context: Context, slice: Slice, { index, target }: Track): boolean =>
  activeMachines(slice).every((name) => {
    const reading = context.readingOf(name)
    const standing = reading && target && standingOf(reading, index, target)
    return standing === undefined || LEFT.has(standing)
  })

const LEFT: ReadonlySet<Standing> = new Set(['Outdated', 'Canary', 'Failed'])

function opens(context: Context, own: MovedLadder, draft: Draft): readonly Slice[] {
  const { survey, slices, planned, spec } = own
  const out: Slice[] = []
  const isRecovery = survey.isGoingBack
  const room = (): Room => ({
    free: draft.free,
    limit: context.limit,
    counting: context.counting,
    slices: draft.slices,
    closed: closedFor(context, isRecovery),
    example: draft.example,
  })
  const { seen, refusals, now, nameOfStep } = context
  const joins = joinable(own, draft.rebooting)
  const input = { seen, survey, slices, refusals, spec, now, nameOfStep, taken: draft.taken, joins }
  const opening = (opened: readonly Slice[]) => {
    for (const name of rebootedBy(own, opened)) draft.rebooting.add(name)
  }
  for (const slice of planned) {
    const again = askAgain({ ...input, room: room() }, slice)
    draft.actions.push(...again.actions)
    draft.free -= again.costs
    for (const name of again.machines) draft.taken.add(name)
    if (again.slice !== undefined) out.push(again.slice)
    if (again.slice?.phase === 'AwaitingPermit') opening([again.slice])
    if (again.wait !== undefined) draft.waits.push(again.wait)
  }
  if (planned.length > 0) return out
  const opened = openSlice({ ...input, room: room() })
  draft.actions.push(...opened.actions)
  draft.free -= opened.costs
  for (const name of opened.machines) draft.taken.add(name)
  opening(opened.slices)
  const { length } = opened.slices
  draft.slices = { atWork: draft.slices.atWork + length, open: draft.slices.open + length }
  if (opened.wait !== undefined) draft.waits.push(opened.wait)
  for (const w of opened.slices)
    draft.notices.push({
      reason: 'StepOpen',
      message: `${versionOf(w)}: ${nameOfStep(w)} opens with ${counted(w.machines.length, 'machine')}`,
    })
  return [...out, ...opened.slices]
}
