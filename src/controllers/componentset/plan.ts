// Decides a whole rollout: from a set and everything that restricts it, which slices open, move or end, which permits are requested, and what it waits for.
// Pure.
import type { Notice, Plan } from '#runtime/reconcile-with.ts'
import { defined } from '#lib/defined.ts'
import { parseDuration } from '#lib/duration.ts'
import { BEHIND_REQUEUE_MS } from '#declared/committed.ts'
import { withEdit } from '#declared/edited-status.ts'
import { timestamp } from '#lib/clock.ts'
import { counted } from '#lib/counted.ts'
import type { SetAction } from './actions.ts'
import { type GivenUp, type Tally, failedOf, moveSlice, reports } from './slices/advance.ts'
import { keptEvidence, lastFailure } from './revisions/blocks.ts'
import type { Survey } from './members/candidates.ts'
import { keptCompletions, keptMarks } from './revisions/completed.ts'
import {
  type Context,
  closedFor,
  contextOf,
  downCount,
  exampleOfDown,
  isAtWork,
  isOpen,
  surveysOf,
} from './plan-context.ts'
import { missingConfigs } from './revisions/configs.ts'
import { wasHealthyHere } from './revisions/known-good.ts'
import { firstFinding, inspectionsOf } from './inspection/inspect.ts'
import { isInspected } from './inspection/inspections.ts'
import { hasEnded } from '#permits/permits.ts'
import { MOST_OPEN, type Room, type Slices, askAgain, openSlice, placeOf } from './slices/open.ts'
import { type Reading, type Standing, isThere, standingOf } from './members/reading.ts'
import { type ProbedStep, probePods } from './inspection/pod-probe.ts'
import { activeMachines } from '#api/protocol/part.ts'
import { isSameTarget, readPermitTarget, writeSliceTarget } from '#api/protocol/component-order.ts'
import { surplusRevisions, targetIn } from './revisions/revisions.ts'
import { type Rules, rolloutRules } from './slices/rules.ts'
import type { Blocked, Seen, Status, Slice } from './seen.ts'
import { type Surroundings, isFailed, versionOf, viewSlice } from './slices/slice-view.ts'
import { type Progress, statusOf } from './status.ts'
import { type Ladder, awaitedMate, joinable, laterTogether, rebootedBy } from './slices/shared-reboots.ts'
import { moveStep } from './slices/steps.ts'
import { type Track, isSliceTo } from './revisions/tracks.ts'
import { nextReconcileMs } from './plan-requeue.ts'
import { keptDurations } from './slices/durations.ts'
import { type Wait, fit } from './reporting/wait.ts'

export interface SetPlan extends Plan<SetAction> {
  readonly status: Status
}

/** Per-component results, accumulated as the plan walks the set. */
interface Draft {
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

export function plan(seen: Seen, now: number, rules: Rules = rolloutRules): SetPlan {
  if (seen.isHeld === true) return heldPlan(seen, now)
  const context = contextOf(seen, now, rules)
  const surveys = surveysOf(context)
  const draft: Draft = {
    actions: [...keptMarks(context), ...bookkeeping(context)],
    notices: [],
    blocks: [...context.blocks],
    waits: [],
    taken: new Set(),
    rebooting: new Set(),
    example: exampleReader(context),
    probed: [],
    free: context.limit - downCount(context),
    slices: slicesIn(seen.set.status?.slices ?? []),
  }
  // Out-of-date components go first. Otherwise the first by name would take every free slice.
  const inTurn = surveys.toSorted((a, b) => a.updated - b.updated || (a.track.component < b.track.component ? -1 : 1))
  const left = unwanted(context, draft)
  const ladders = inTurn.map((survey) => movedSlices(context, survey, draft))
  const slices = [...left, ...ladders.flatMap((own) => [...own.slices, ...nextSlices(context, own, ladders, draft)])]
  draft.actions.push(...orphaned(context, slices))
  const { members, revisions } = context
  const kept = keptEvidence(revisions.all, { blocks: draft.blocks, surveys, members, now })
  const completed = keptCompletions(context, { surveys, slices, blocks: draft.blocks })
  draft.actions.push(...oncePerRevision([...kept, ...completed], draft.actions))
  draft.actions.push(...probePods(seen, draft.probed))
  const progress: Progress = { surveys, slices, blocks: draft.blocks, waits: draft.waits }
  const durations = keptDurations(seen.set, draft.actions, now)
  const status = withEdit({ ...statusOf(context, progress), ...durations }, seen.set.status, seen.edit, now)
  const requeueAfter = nextReconcileMs(context, slices)
  const notices = [...draft.notices, ...finished(seen, status)]
  // Permits are requested last: if an earlier action fails, the status does not yet reference the slice, and the next reconcile would request a second permit.
  const isAsk = ({ kind }: SetAction) => kind === 'RequestPermit'
  const actions = [...draft.actions.filter((x) => !isAsk(x)), ...draft.actions.filter(isAsk)]
  return { actions, notices, status, ...defined({ requeueAfter }) }
}

/** Each is a write with a resourceVersion. The API would reject a second write to the same object, so it waits for the next reconcile. */
function oncePerRevision(actions: readonly SetAction[], before: readonly SetAction[]): readonly SetAction[] {
  const nameOf = (a: SetAction) => ('revision' in a ? a.revision.metadata.name : undefined)
  const written = new Set(before.map(nameOf))
  return actions.filter((action) => {
    const isFirst = !written.has(nameOf(action))
    written.add(nameOf(action))
    return isFirst
  })
}

/** Running slices end with their machines' reports, once git's declaration is known again. */
function heldPlan({ set, edit }: Seen, now: number): SetPlan {
  const status = withEdit(set.status ?? {}, set.status, edit, now)
  return { actions: [], notices: [], status, ...(edit === undefined && { requeueAfter: BEHIND_REQUEUE_MS }) }
}

function exampleReader(context: Context): () => string | undefined {
  let read: { readonly example: string | undefined } | undefined
  return () => (read ??= { example: exampleOfDown(context) }).example
}

function slicesIn(slices: readonly Slice[]): Slices {
  return { atWork: slices.filter(isAtWork).length, open: slices.filter(isOpen).length }
}

/** Objects that all other actions need: the revision and rendered configurations. Deletes those no longer needed. */
function bookkeeping({ seen, revisions, isNewRevision, blocks }: Context): readonly SetAction[] {
  const { update, current, all } = revisions
  const before = seen.revisions.find((r) => r.metadata.name === update.metadata.name)
  const inPlay = new Set([update, ...(current === undefined ? [] : [current])].map((r) => r.metadata.name ?? ''))
  for (const { revision } of blocks) inPlay.add(revision)
  const recorded = all.filter((r) => r.metadata.uid !== undefined)
  return [
    ...(isNewRevision
      ? [
          {
            kind: 'CreateRevision' as const,
            reason: 'the declared components have no revision yet',
            revision: all.at(-1) ?? update,
          },
        ]
      : []),
    ...(before === undefined || before.revision === update.revision
      ? []
      : [{ kind: 'RenumberRevision' as const, reason: 'declared again', revision: update }]),
    ...missingConfigs(seen, [update, ...(current === undefined ? [] : [current])]),
    ...surplusRevisions(recorded, inPlay).map((revision) => ({
      kind: 'DeleteRevision' as const,
      reason: 'beyond the revision history limit',
      revision,
    })),
  ]
}

/** Slices of components that the set no longer declares. */
function unwanted(context: Context, draft: Draft): readonly Slice[] {
  const named = new Set(context.tracks.map((t) => t.component))
  const slices = (context.seen.set.status?.slices ?? []).filter((w) => isOpen(w) && !named.has(w.component))
  return slices.flatMap((slice) => moveOne(context, slice, 'superseded', { failed: 0, allowed: 0 }, draft).slice ?? [])
}

function surroundings(context: Context): Surroundings {
  const { readingOf, isMember, isOthers, indexOf, rules, now, outage, pause, problem, opening, heldBy, nameOfStep } =
    context
  const { set, permits } = context.seen
  const isReboot = ({ component, version }: Slice) => context.specOf(component, version)?.disruption === 'Reboot'
  const indexOfComponent = (component: string) => indexOf.get(component) ?? -1
  const shared = {
    slices: (set.status?.slices ?? []).filter((w) => isAtWork(w) && isReboot(w)),
    indexOf: indexOfComponent,
    permits,
  }
  const isOutage = outage !== undefined
  const isStopped = pause !== undefined || isOutage || problem !== undefined
  return {
    readingOf,
    isMember,
    isOthers,
    indexOf: indexOfComponent,
    awaitedBy: (reading, slice) => awaitedMate(reading, slice, shared),
    isHalted: (reading, { phase, recovery }) =>
      isStopped ||
      heldBy(reading) !== undefined ||
      (phase === 'AwaitingPermit' && !opening.isOpen && recovery === undefined),
    rules,
    now,
    isOutage,
    nameOfStep,
  }
}

function moveOne(context: Context, slice: Slice, givenUp: GivenUp | undefined, tally: Tally, draft: Draft) {
  const around = surroundings(context)
  const permit = context.seen.permits.get(slice.permit ?? '')
  const isGivenUp = givenUp !== undefined || tally.failed > tally.allowed
  const viewOf = () => viewSlice(slice, permit, around, isGivenUp)
  const moved = moveSlice(slice, viewOf, around, { rollout: context.seen.set.spec.rollout, tally, givenUp })
  draft.actions.push(...moved.actions)
  return moved
}

interface MovedLadder extends Ladder {
  /** Slices that ask again for their permits. */
  readonly planned: readonly Slice[]
}

/** The slices of one component: running ones advance, and the step is inspected. */
function movedSlices(context: Context, survey: Survey, draft: Draft): MovedLadder {
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

/**
 * Machines failed that no slice switches: some joined meanwhile, or were reinstalled in the soak. A first version of all is not given up for that: machines that
 * join would get none.
 */
function isOver({ revisions }: Context, track: Track, slices: readonly Slice[], { failed, allowed }: Tally): boolean {
  const { blocked, target, component } = track
  if (blocked !== undefined || failed <= allowed || slices.some(isAtWork)) return false
  const { current } = revisions
  const isOther = current !== undefined && !isSameTarget(target, targetIn(current, component))
  return isOther || slices.some((w) => isSliceTo(w, target))
}

/** After a failure in this reconcile no further slice opens. The other running slices end in the next reconcile. */
function nextSlices(context: Context, own: MovedLadder, all: readonly Ladder[], draft: Draft): readonly Slice[] {
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

/**
 * A version that was healthy here is not blamed for failures on a set at rest. During a return to it, failures stop the set just as on the way
 * forward.
 */
const isBlamed = (context: Context, track: Track): boolean => !track.isProven || isReturning(context, track)

function isReturning({ revisions, seen }: Context, { target, component }: Track): boolean {
  const isToCurrent = isSameTarget(target, targetIn(revisions.current, component))
  return !isToCurrent || (seen.set.status?.slices ?? []).some((w) => w.recovery !== undefined && isSliceTo(w, target))
}

function tallyOf(context: Context, survey: Survey): Tally {
  const { track, failed, stuck, tried } = survey
  if (!isBlamed(context, track)) return { failed: 0, allowed: 0 }
  const around = surroundings(context)
  const lost = (context.seen.set.status?.slices ?? [])
    .filter((w) => isAtWork(w) && isSliceTo(w, track.target))
    // Only a silent machine is lost.
    .filter((w) => activeMachines(w).some((name) => context.readingOf(name)?.health === 'Silent'))
    .flatMap((w) => viewSlice(w, context.seen.permits.get(w.permit ?? ''), around, false).machines)
    .filter((m) => m.end === 'Lost' && isFailed(m, around.isOutage))
  const { maxFailures } = context.seen.set.spec.rollout
  const { revisions, seen } = context
  // The set runs this version, but it is not proven for machines from elsewhere. That it works on the set proves nothing about them.
  const isForNewcomers = !track.isProven && isSameTarget(track.target, targetIn(revisions.current, track.component))
  const isKnownGood =
    track.target !== undefined && !isForNewcomers && wasHealthyHere(track.target, revisions.all, seen.components)
  const allowed = context.rules.allowedFailures(maxFailures, { tried: tried + lost.length, isKnownGood })
  const [first] = lost
  const detail =
    (failed === 0 ? undefined : lastFailure(survey, context.members)) ??
    (first && `${first.name} fell silent between two versions`)
  return { failed: failed + lost.length, stuck, allowed, ...defined({ detail }) }
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

/** Permits of this set without a slice: the requester died in between, the slice was given up, or it continued without silent machines. */
function orphaned(context: Context, slices: readonly Slice[]): readonly SetAction[] {
  const { seen } = context
  const inUse = [...slices, ...(seen.set.status?.slices ?? [])].filter((w) => w.phase === 'Planned' || isAtWork(w))
  const named = new Set(inUse.map((w) => w.permit))
  const around = surroundings(context)
  return [...seen.permits.values()].flatMap((permit) => {
    const { name = '' } = permit.metadata
    if (named.has(name) || hasEnded(permit)) return []
    const { component = { name: '' }, targets } = permit.spec
    const slice: Slice = {
      ...writeSliceTarget(readPermitTarget(component)),
      step: 0,
      number: 0,
      phase: 'Switching',
      permit: name,
      machines: targets.map((t) => t.name),
    }
    return reports(viewSlice(slice, permit, around, true))
  })
}

function finished(seen: Seen, status: Status): readonly Notice[] {
  const { current } = status.revisions ?? {}
  if (current === undefined || current === seen.set.status?.revisions?.current) return []
  return [{ reason: 'AllUpdated', message: `all eligible machines are on ${current}` }]
}
