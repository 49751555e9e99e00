// Opens the next slices of a component within the budget: picks machines, names the permit, and gives the reason when nothing opens.
import { revisionHash, shortened } from '#api/protocol/set-revision.ts'
import type { MachineComponentSpec } from '#api/kinds/machine-component.ts'
import { MAX_TARGETS, type OperationPermit } from '#api/kinds/operation-permit.ts'
import { FIELD_MANAGERS } from '#api/names.ts'
import { timestamp } from '#lib/clock.ts'
import { counted } from '#lib/counted.ts'
import { askAgainInMs } from '#permits/ended-for.ts'
import { countedOn, isNamed, namesOf, nextPermitName } from '#permits/permit-names.ts'
import { UNDECIDED } from '#permits/permit-wait.ts'
import { type PermitRequest, isOpen } from '#permits/permits.ts'
import { switchRequest } from '#permits/switch-request.ts'
import type { SetAction } from '../actions.ts'
import type { Survey } from '../members/candidates.ts'
import { hostsForLater } from './own-hosts.ts'
import { MOST_SLICES_OF_STEP, stepSize } from './ladder.ts'
import type { Reading } from '../members/reading.ts'
import { type Refusals, closedByRefusal } from '../members/refused.ts'
import { type ComponentTarget, writeSliceTarget } from '#api/protocol/component-order.ts'
import { activeMachines, continuedWith, partOfSlice } from '#api/protocol/part.ts'
import { nameOf } from '#api/schema/object-meta.ts'
import type { Seen, Slice, SliceDecision } from '../seen.ts'
import { type Domain, pickOrdered } from '#nodes/placement/spread.ts'
import { versionOf } from './slice-view.ts'
import { isSliceTo } from '../revisions/tracks.ts'
import { type Wait, waitingSince } from '../reporting/wait.ts'
import { defined } from '#lib/defined.ts'

/** Slices of one set that wait for a permit or switch. Each is a permit for up to a hundred machines. */
const MOST_AT_WORK = 20
/** Includes slices under inspection and in soak. A status lists 64, and some of these have ended. */
export const MOST_OPEN = 40

export interface Slices {
  readonly atWork: number
  readonly open: number
}

export interface Room {
  /** Machines that may become unavailable on top of those that already are. */
  readonly free: number
  readonly limit: number
  readonly counting: number
  readonly slices: Slices
  /** Why nothing may be opened right now. */
  readonly closed: Wait | undefined
  /** An unavailable machine, with the reason. */
  readonly example: () => string | undefined
}

export interface Opened {
  readonly slices: readonly Slice[]
  readonly actions: readonly SetAction[]
  /** Machines that count against the budget from now on. */
  readonly costs: number
  readonly machines: readonly string[]
  readonly wait: Wait | undefined
}

const nothing = (wait: Wait | undefined): Opened => ({ slices: [], actions: [], costs: 0, machines: [], wait })

/**
 * A step exists to gather evidence, so it is not reopened for the last few released machines. A step of all machines is: a further step would cost
 * them their own soak.
 */
const ENOUGH_OF_STEP = 0.9

export interface StepPlace {
  readonly step: number
  readonly number: number
  readonly left: number
}

/** The step and number of the next slice. Undefined while a step is under inspection or in soak. */
export function placeOf(
  survey: Survey,
  slices: readonly Slice[],
  steps: Seen['set']['spec']['rollout']['steps'],
  counting: number,
): StepPlace | undefined {
  const { target, isProven } = survey.track
  const isInOneStep = isProven || survey.isGoingBack
  const mine = slices.filter((w) => isSliceTo(w, target))
  const last = mine.reduce((most, w) => Math.max(most, w.step), -1)
  const inLast = mine.filter((w) => w.step === last)
  const sizeOf = (step: number) => (isInOneStep ? Infinity : stepSize(steps, step, counting))
  if (inLast.every((w) => w.phase === 'Passed')) {
    // Kept entries of an older ladder must not share a key with a new one.
    const step = 1 + slices.reduce((most, w) => Math.max(most, w.step), -1)
    return { step, number: 0, left: sizeOf(step) }
  }
  if (inLast.some((w) => w.phase === 'Soaking' || w.phase === 'Passed' || w.phase === 'Failed')) return undefined
  const taken = inLast.reduce((n, w) => n + activeMachines(w).length, 0)
  const number = 1 + inLast.reduce((most, w) => Math.max(most, w.number), -1)
  const size = sizeOf(last)
  const isEnough = taken >= (size < counting ? size * ENOUGH_OF_STEP : size)
  const left = number >= MOST_SLICES_OF_STEP || isEnough ? 0 : size - taken
  return left === 0 ? undefined : { step: last, number, left }
}

/** Skips the number of a slice that this write removes. Otherwise readers of the status would see that slice change its machines. */
function freeNumber({ step, number }: StepPlace, target: ComponentTarget, { set }: Seen): number {
  const published = (set.status?.slices ?? []).filter((w) => w.step === step && isSliceTo(w, target))
  return published.reduce((free, w) => Math.max(free, w.number + 1), number)
}

export interface OpenInput {
  readonly seen: Seen
  readonly survey: Survey
  readonly slices: readonly Slice[]
  readonly room: Room
  readonly refusals: Refusals
  readonly spec: MachineComponentSpec | undefined
  readonly now: number
  readonly nameOfStep: (slice: SliceDecision) => string
  /** Machines of slices that this pass already opened for another component. */
  readonly taken: ReadonlySet<string>
  /** Those of them that reboot, and can reboot for this component too. They cost nothing more, and come before others. */
  readonly joins: readonly Reading[]
}

export function openSlice(input: OpenInput): Opened {
  const { seen, survey, slices, room, refusals, spec, now, nameOfStep, taken, joins } = input
  const { track, candidates, isGoingBack: isRecovery } = survey
  const { target } = track
  if (target === undefined || candidates === 0) return nothing(unmetOf(survey))
  const leftover = slices.find((w) => !isSliceTo(w, target) && w.phase !== 'Failed' && w.phase !== 'Passed')
  if (leftover !== undefined) return nothing(winding(leftover))
  const { rollout } = seen.set.spec
  const place = placeOf(survey, slices, rollout.steps, room.counting)
  if (place === undefined) return nothing(undefined)
  const isWayBack = isRecovery || track.isRollback
  if (room.closed !== undefined) return nothing(room.closed)
  if (isCrowded(room.slices)) return nothing(tooManySlices(room))
  const refusal = closedByRefusal(seen, refusals, { component: track.component, isRecovery: isWayBack })
  if (refusal !== undefined) return nothing(refusal.wait)
  const most = Math.min(place.left, MAX_TARGETS)
  const isIdle = room.slices.atWork === 0
  const isJoining = joins.length > 0
  const wanted = Math.min(place.left, MAX_TARGETS, candidates, room.limit)
  const isAtWork = slices.some((w) => w.phase === 'AwaitingPermit' || w.phase === 'Switching')
  // One larger slice once half of the budget is free is better than one slice per returning machine.
  const least = isAtWork && !isJoining ? Math.max(1, Math.ceil(wanted / 2)) : 1
  // Choosing takes long, and most of the time there is no room.
  if (!isJoining && room.free < least && survey.broken().length === 0) return nothing(noBudget(room))
  const out = new Set([...taken, ...ownHostsForLater(seen, survey, taken)])
  const picked = isJoining
    ? pickOrdered(joins, { ...triedIn(survey), count: most, domains: rollout.spread })
    : pick(survey, { most, free: room.free, isIdle, spread: rollout.spread, isRecovery, taken: out })
  const costs = isJoining ? 0 : picked.length - picked.filter((r) => survey.broken().includes(r)).length
  if (picked.length < least) return nothing(noBudget(room))
  const machines = picked.map((r) => r.name).toSorted()
  const decision: SliceDecision = {
    ...writeSliceTarget(target),
    step: place.step,
    number: freeNumber(place, target, seen),
    machines,
    ...(isWayBack && { recovery: 'Rollback' as const }),
  }
  const asked = ask({
    seen,
    slice: decision,
    targets: picked,
    spec,
    now,
    nameOfStep,
    alternates:
      refusals.machines.size === 0 ? [] : nextAfter(survey, picked, { spread: rollout.spread, isRecovery, out }),
  })
  return { slices: [asked.slice], actions: asked.actions, costs, machines, wait: undefined }
}

function triedIn(survey: Survey) {
  const { byClass, zones } = survey.triedIn()
  return { tried: byClass, triedZones: zones }
}

/** Applies to serving machines. Broken ones still come first. */
function ownHostsForLater(
  { hosts, leading = new Set() }: Seen,
  survey: Survey,
  taken: ReadonlySet<string>,
): ReadonlySet<string> {
  if (hosts === undefined) return new Set()
  const candidates = survey
    .sound()
    .filter((r) => !taken.has(r.name))
    .map((r) => ({ name: r.name, node: r.node?.metadata.name ?? '' }))
  return hostsForLater(candidates, { hosts, leading })
}

/**
 * Machines that the component itself made unavailable cost nothing and come first. When going back, failed machines come next. Then evenly over the
 * domains.
 */
function pick(survey: Survey, { most, free, isIdle, spread, isRecovery, taken }: PickInput): readonly Reading[] {
  const { track } = survey
  const [sound, broken] = [survey.sound(), survey.broken()]
  const mine = (list: readonly Reading[]) => (isRecovery ? list.filter((r) => survey.goingBack().has(r)) : list)
  const isTaken = ({ name }: Reading) => taken.has(name)
  const take = (list: readonly Reading[], count: number, chosen: readonly Reading[] = []) => {
    // Who tried the version takes long to count, and most of the time there is no room.
    if (count <= 0 || list.length === 0) return []
    const isOut = chosen.length === 0 ? isTaken : (r: Reading) => isTaken(r) || chosen.includes(r)
    return pickOrdered(list, { ...triedIn(survey), count, domains: spread, isTaken: isOut })
  }
  // If a version works elsewhere but fails on one machine, that machine proves little. It is tried only if no sound machine may be.
  const areAllNext = track.isProven || sound.length === 0 || (free <= 0 && isIdle)
  const first = take(mine(areAllNext ? broken : broken.filter((r) => survey.brokenByRollout().has(r))), most)
  const room = Math.max(0, Math.min(most - first.length, free))
  const sounds = mine(sound)
  const hurt = isRecovery ? sounds.filter((r) => r.reports[track.index]?.state === 'RolledBack') : []
  const next = take(hurt, room)
  return [...first, ...next, ...take(sounds, room - next.length, next)]
}

interface NextSliceInput {
  readonly spread: readonly Domain[]
  readonly isRecovery: boolean
  /** Machines of other slices. */
  readonly out: ReadonlySet<string>
}

/**
 * The machines that the set would request next. After a refusal, the Defender is asked about them too. Otherwise a first step of one machine finds
 * one protected machine at a time.
 */
function nextAfter(
  survey: Survey,
  picked: readonly Reading[],
  { spread, isRecovery, out }: NextSliceInput,
): readonly Reading[] {
  const sound = survey.sound()
  const chosen = new Set(picked)
  const isTaken = (r: Reading) => chosen.has(r) || out.has(r.name)
  const list = isRecovery ? sound.filter((r) => survey.goingBack().has(r)) : sound
  return pickOrdered(list, { ...triedIn(survey), count: MAX_TARGETS, domains: spread, isTaken })
}

interface PickInput {
  readonly most: number
  /** Sound machines that may become unavailable. */
  readonly free: number
  /** No slice of the set is running. */
  readonly isIdle: boolean
  readonly spread: readonly Domain[]
  readonly isRecovery: boolean
  readonly taken: ReadonlySet<string>
}

interface AskInput {
  readonly seen: Seen
  /** With its results so far. */
  readonly slice: SliceDecision & Partial<Slice>
  readonly targets: readonly Reading[]
  readonly spec: MachineComponentSpec | undefined
  readonly now: number
  readonly nameOfStep: (slice: SliceDecision) => string
  /** Asked about, but not requested. */
  readonly alternates?: readonly Reading[]
}

interface Asked {
  readonly slice: Slice
  readonly actions: readonly SetAction[]
}

/** The slice with its permit request. A permit requested before a crash is found by its name. */
function ask(input: AskInput): Asked {
  const { seen, slice, targets, now } = input
  const request = requestOf(input)
  const permit = permitName(seen, slice, targets)
  const reason = `${request.reason}, slice ${slice.number + 1}`
  const next: Slice = {
    ...slice,
    phase: 'AwaitingPermit',
    permit,
    startedAt: timestamp(now),
    waitingFor: waitingSince(undefined, UNDECIDED, now),
  }
  const actions: readonly SetAction[] = seen.permits.has(permit)
    ? []
    : [{ kind: 'RequestPermit', reason, permit, request }]
  return { slice: next, actions }
}

function requestOf({ seen: { set }, slice, targets, spec, nameOfStep, alternates = [] }: AskInput): PermitRequest {
  return switchRequest(partOfSlice({ kind: set.kind, name: nameOf(set) }, slice), {
    manager: FIELD_MANAGERS.componentSet,
    parent: set,
    machines: targets.map((r) => r.machine),
    alternates: alternates.map((r) => r.machine),
    disruption: spec?.disruption,
    reason: `${versionOf(slice)}: ${nameOfStep(slice)}`,
    recovery: slice.recovery !== undefined,
  })
}

const MOST_SET_CHARS = 100

/**
 * Derived from the request and its machines, so that asking twice gives one permit. If a permit with this name has already ended, a number is added.
 * Permits are kept for a day, so those of a deleted set may still exist when another set with its name starts.
 */
function permitName(seen: Seen, slice: SliceDecision, targets: readonly Reading[]): string {
  const { name = '', uid = '' } = seen.set.metadata
  const set = shortened(name.slice(0, MOST_SET_CHARS))
  const base = `${set}-${slice.component}-${hashOf(slice, uid)}-s${slice.step}-${slice.number}`
  const names = countedOn(base)
  const known = [...seen.permits.values()].filter((p) => isNamed(names, p))
  return known.find((p) => isFreshlyAsked(p, targets))?.metadata.name ?? nextPermitName(names, namesOf(known))
}

/** The hash of a removal never changes, so that an earlier permit is found again. */
const hashOf = ({ component, version = '', config }: SliceDecision, set: string): string =>
  revisionHash([{ name: component, version, values: { set, ...defined({ config }) } }])

function isFreshlyAsked(permit: OperationPermit, targets: readonly Reading[]): boolean {
  if (!isOpen(permit) || permit.spec.results !== undefined) return false
  const uids = new Set(permit.spec.targets.map((t) => t.uid))
  return uids.size === targets.length && targets.every((t) => uids.has(t.uid))
}

/** A slice whose permit ended asks again for its unfinished machines. After a refusal it waits a while. */
export function askAgain(input: OpenInput, slice: Slice): Opened & { readonly slice: Slice | undefined } {
  const { seen, survey, room, spec, now, nameOfStep } = input
  const before = seen.permits.get(slice.permit ?? '')
  const active = activeMachines(slice)
  const wanted = new Set(active)
  const joins = new Set(input.joins)
  const left = [...survey.sound(), ...survey.broken()].filter(
    (r) => wanted.has(r.name) && (joins.has(r) || !input.taken.has(r.name)),
  )
  const open = new Map(left.map((r) => [r.name, r]))
  const targets = active.flatMap((name) => open.get(name) ?? [])
  // Machines that can no longer be requested go into the next slice.
  if (targets.length === 0) return { ...nothing(undefined), slice: undefined }
  if (askAgainInMs(before, seen.refusedFor) > 0) return { ...nothing(undefined), slice }
  const costs = targets.filter((r) => !joins.has(r) && !survey.broken().includes(r)).length
  const wait = room.closed ?? (costs > room.free ? noBudget(room) : undefined)
  if (wait !== undefined)
    return { ...nothing(wait), slice: { ...slice, waitingFor: waitingSince(slice.waitingFor, wait, now) } }
  const done = (before?.spec.targets ?? []).filter((t) => before?.spec.results?.[t.uid] === 'Succeeded')
  // A new machine under the same name does not count: no permit of this slice would cover it, and the slice could not end.
  const uids = new Map(done.length === 0 ? [] : seen.machines.map((m) => [m.metadata.name ?? '', m.metadata.uid]))
  const isDone = (name: string) => done.some((t) => t.name === name && (uids.get(name) ?? t.uid) === t.uid)
  const machines = active.filter((name) => open.has(name) || isDone(name))
  const next = continuedWith(slice, new Set(machines))
  const asked = ask({ seen, slice: next, targets, spec, now, nameOfStep })
  return { slices: [], slice: asked.slice, actions: asked.actions, costs, machines, wait: undefined }
}

const noBudget = ({ limit, free, example: exampleOf }: Room): Wait => {
  const example = exampleOf()
  return {
    predicate: 'BudgetExhausted',
    seen: `${counted(limit - free, 'machine', 'machines')} unavailable or switching (limit ${limit}, maxUnavailable)${example === undefined ? '' : `, such as ${example}`}`,
    unblock: 'machines are available again, or maxUnavailable is raised',
  }
}

const isCrowded = ({ atWork, open }: Slices): boolean => atWork >= MOST_AT_WORK || open >= MOST_OPEN

const tooManySlices = ({ slices: { atWork, open } }: Room): Wait => ({
  predicate: 'StepOpen',
  seen: `${counted(atWork, 'slice', 'slices')} running (limit ${MOST_AT_WORK}), ${open} open (limit ${MOST_OPEN})`,
  unblock: 'a slice finishes',
})

const winding = ({ component, version = '' }: Slice): Wait => ({
  predicate: 'WaitingForOther',
  seen: `slices of ${component} ${version} are still being abandoned`,
  unblock: 'their running switches finish',
})

function unmetOf({ unmet, firstUnmet, track }: Survey): Wait | undefined {
  if (unmet === 0) return undefined
  return {
    predicate: 'RequirementUnmet',
    seen: `${counted(unmet, 'machine')} cannot take ${track.component} yet; ${firstUnmet ?? ''}`,
    unblock: 'the other component switches first, or a compatible version is declared',
  }
}
