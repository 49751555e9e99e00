// Decides which machines a component can go to next, and why the others wait. A machine that is unhealthy, silent, held or switching is never
// touched.
import type { ComponentStatus, Machine } from '#api/kinds/machine.ts'
import { wasHealthy } from '#api/protocol/healthy-before.ts'
import { MOST_FRESH_COPIES, isPastFreshCopies } from '#api/protocol/fresh-copy.ts'
import type { Basis, Finding } from './settled.ts'
import { type Reading, type Standing, isNodeDeleted, isThere, reportsFailure, standingOf } from './reading.ts'
import { type ComponentTarget, isSameTarget, isOrderFor } from '#api/protocol/component-order.ts'
import { targetIn } from '../revisions/revisions.ts'
import type { Rules } from '../slices/rules.ts'
import type { Revisions, Track } from '../revisions/tracks.ts'
import { shortened } from '#lib/shortened.ts'

export interface Survey {
  readonly track: Track
  /** May be disrupted. Each costs one unit of the budget. */
  readonly sound: () => readonly Reading[]
  /** Unavailable because of this component. Disrupting them costs nothing. */
  readonly broken: () => readonly Reading[]
  /** How many are sound or broken. */
  readonly candidates: number
  /** Broken by a version that never worked on the whole set. They get the next version first. */
  readonly brokenByRollout: () => ReadonlySet<Reading>
  /** Ordered a version newer than the last healthy one, so these go back. A subset of the above. */
  readonly goingBack: () => ReadonlySet<Reading>
  readonly isGoingBack: boolean
  readonly skipped: ReadonlyMap<string, string>
  readonly updated: number
  /** Failures that may be retried do not count. */
  readonly failed: number
  /** Ordered long ago and still not ready to switch. */
  readonly stuck: number
  readonly tried: number
  /** One mark per member, in member order. */
  readonly marks: Uint8Array
  /** Who tried it. */
  readonly triedIn: () => TriedIn
  /** Candidates that wait for another component, or that another component needs as they are. */
  readonly unmet: number
  /** The reason for the first of them. */
  readonly firstUnmet: string | undefined
}

interface TriedIn {
  readonly byClass: ReadonlyMap<string, number>
  readonly zones: ReadonlySet<string>
}

export interface SurveyInput {
  readonly members: readonly Reading[]
  /** Undefined: other sets may decide about the component, so that nothing is kept. */
  readonly basis: Basis | undefined
  readonly revisions: Revisions
  readonly rules: Rules
  /** Why the component cannot run its target next to what a machine runs. */
  readonly incompatible: (runs: string) => string | undefined
  /** Why the machine can never run the target, as it is. */
  readonly unfit: (machine: Machine) => string | undefined
  /** The target has secret values, sealed to a key that the machine's agent published. */
  readonly needsKey?: boolean
  /** Machines of pending or switching slices, of any component of the set. */
  readonly reserved: ReadonlySet<string>
  /** `decidedBy` is the set that the machine got the component from. */
  readonly claimedByOther: (machine: Machine, decidedBy: string | undefined) => string | undefined
  readonly heldBy: (reading: Reading) => string | undefined
  /** By place of the member. */
  readonly concernAt: (at: number) => Concern
  /** Recent refusals of the Defender, by machine uid. */
  readonly refused: ReadonlyMap<string, string>
  /** Failures before this time may be retried. */
  readonly retryBefore: number | undefined
  /** Start times of the pending and switching slices. */
  readonly atWork: ReadonlySet<string | undefined>
  readonly now: number
  /** An order from before this time that is not staged yet counts as stuck. */
  readonly overdueBefore: number
}

/** The state of a machine for one component, for the set's counts. */
export const MARKS = { behind: 0, healthy: 1, updated: 2, failed: 3, othersDecide: 4 } as const

type Verdict = 'Sound' | 'Broken' | 'Never' | 'Others' | { readonly skipped: string } | { readonly unmet: string }

/** What else concerns a machine now. One of a slice is left alone. */
export type Concern = 'None' | 'Slice' | 'Other'

/** Reads members in their order, and returns the totals at the end. */
export interface Surveyor {
  readonly add: (from: number, to: number) => void
  readonly survey: () => Survey
}

/** Of a machine and a component. */
interface Assessment {
  readonly isHere: boolean
  readonly isFailed: boolean
  /** A failure that may not be retried. */
  readonly isCounted: boolean
  readonly isStuck: boolean
  readonly mark: number
  /** Undefined: there is nothing to do. */
  readonly verdict: Verdict | undefined
  readonly isOfRollout: boolean
  readonly isGoingBack: boolean
  /** It rests on nothing that time changes. */
  readonly isLasting: boolean
}

/** What a survey lists, one bit each. */
const LISTED = { sound: 1, broken: 2, ofRollout: 4, goingBack: 8, tried: 16 } as const

/** Many machines have it, and no other set is in it. */
const isCommon = (verdict: Assessment['verdict']): boolean =>
  verdict === BUSY || (typeof verdict !== 'object' && verdict !== 'Others')

const BUSY: Verdict = { skipped: 'another switch is running on it' }

function listsOf({ verdict, isOfRollout, isGoingBack, isHere, isFailed }: Assessment): number {
  const tried = isHere || isFailed ? LISTED.tried : 0
  if (verdict !== 'Sound' && verdict !== 'Broken') return tried
  const of = verdict === 'Sound' ? LISTED.sound : LISTED.broken
  return tried | of | (isOfRollout ? LISTED.ofRollout : 0) | (isGoingBack ? LISTED.goingBack : 0)
}

export function surveyorOf(track: Track, input: SurveyInput): Surveyor {
  const { members, basis, concernAt } = input
  const marks = new Uint8Array(members.length)
  const lists = new Uint8Array(members.length)
  const skipped = new Map<string, string>()
  const counts = { updated: 0, failed: 0, stuck: 0, unmet: 0, candidates: 0, goingBack: 0 }
  let firstUnmet: string | undefined
  const goal = track.target ?? track.declared
  const about: About = {
    track,
    goal,
    healthy: targetIn(input.revisions.current, track.component),
    isBack: track.ahead.some((t) => !isSameTarget(t, goal)),
    input,
  }
  const count = ({ mark, lists: found, isHere, skipped: why }: Finding, at: number, concern: Concern): void => {
    const isTaken = concern === 'Slice'
    const of = isTaken ? found & LISTED.tried : found
    if (why !== undefined && !isTaken) skipped.set((members[at] as Reading).name, why)
    marks[at] = mark
    lists[at] = of
    if (isHere) counts.updated++
    if ((of & (LISTED.sound | LISTED.broken)) !== 0) counts.candidates++
    if ((of & LISTED.goingBack) !== 0) counts.goingBack++
  }
  const assessed = (reading: Reading, at: number): void => {
    const found = assess(reading, about)
    const { isHere, isLasting } = found
    const concern = isLasting && found.verdict !== undefined ? concernAt(at) : 'None'
    const { verdict } = found
    const isTaken = concern === 'Slice'
    const mark = verdict === 'Others' && !isTaken ? MARKS.othersDecide : found.mark
    const why = typeof verdict === 'object' && 'skipped' in verdict ? verdict.skipped : undefined
    const finding = { isHere, mark, lists: listsOf(found), isIdle: verdict === undefined, skipped: why }
    count(finding, at, concern)
    if (isLasting && concern !== 'Other' && isCommon(verdict)) basis?.keep(at, finding)
    if (found.isCounted) counts.failed++
    if (found.isStuck) counts.stuck++
    if (typeof verdict === 'object' && 'unmet' in verdict && !isTaken) {
      counts.unmet++
      firstUnmet ??= `${reading.name}: ${verdict.unmet}`
    }
  }
  const add = (from: number, to: number): void => {
    for (let at = from; at < to; at++) {
      const known = basis?.findingAt(at)
      const concern = known === undefined || known.isIdle ? 'None' : concernAt(at)
      if (known === undefined || concern === 'Other') assessed(members[at] as Reading, at)
      else count(known, at, concern)
    }
  }
  const listed = (of: number): readonly Reading[] => members.filter((_, at) => ((lists[at] ?? 0) & of) !== 0)
  const survey = (): Survey => {
    const { goingBack: goesBack, ...sums } = counts
    return {
      track,
      ...sums,
      isGoingBack: goesBack > 0,
      sound: lazily(() => listed(LISTED.sound)),
      broken: lazily(() => listed(LISTED.broken)),
      brokenByRollout: lazily(() => new Set(listed(LISTED.ofRollout))),
      goingBack: lazily(() => new Set(listed(LISTED.goingBack))),
      skipped,
      firstUnmet,
      tried: counts.updated + counts.failed,
      marks,
      triedIn: lazily(() => triedAmong(listed(LISTED.tried))),
    }
  }
  return { add, survey }
}

/** Most plans ask for none of the lists, and each is as long as the set is large. */
function lazily<T extends object>(make: () => T): () => T {
  let made: T | undefined
  return () => (made ??= make())
}

function triedAmong(tried: readonly Reading[]): TriedIn {
  const byClass = new Map<string, number>()
  const zones = new Set<string>()
  for (const { class: of, machine } of tried) {
    byClass.set(of, (byClass.get(of) ?? 0) + 1)
    zones.add(machine.spec.zone ?? '')
  }
  return { byClass, zones }
}

/** What is the same for all machines. */
interface About {
  readonly track: Track
  readonly goal: ComponentTarget
  readonly healthy: ComponentTarget | undefined
  readonly isBack: boolean
  readonly input: SurveyInput
}

function assess(reading: Reading, { track, goal, healthy, isBack, input }: About): Assessment {
  const { standing, isHere, isFailed, isStuck } = standingNow(reading, track, goal, input)
  const isCounted = isFailed && !mayRetry(reading, track, input)
  const mark = markOf(standing, isFailed, reading)
  const isLasting = !isFailed && LASTING.has(standing)
  const found = { isHere, isFailed, isCounted, isStuck, isLasting, isOfRollout: false, isGoingBack: false }
  // While a version climbs the ladder, changes made on a node are not repaired: a step should show only the effect of the version.
  if (isHere && !(standing === 'Drifted' && track.isProven)) return { ...found, mark, verdict: undefined }
  const verdict = isStuck ? STUCK : judge(reading, standing, { isFailed, isLasting }, track, input)
  if (verdict !== 'Sound' && verdict !== 'Broken') return { ...found, mark, verdict }
  return {
    ...found,
    mark,
    verdict,
    isOfRollout: verdict === 'Broken' && !isOfHealthy(reading, track.index, healthy),
    isGoingBack: isBack && wasHealthyOn(reading, track) && isAhead(reading, track, goal),
  }
}

/** All others wait for an agent, a canary or a time. */
const LASTING: ReadonlySet<Standing> = new Set(['Updated', 'Unhealthy', 'Outdated'])

const STUCK: Verdict = { skipped: 'not ready for this version within the progress deadline' }

function standingNow(
  reading: Reading,
  { index }: Track,
  goal: ComponentTarget,
  { rules, reserved, overdueBefore }: SurveyInput,
) {
  const standing = standingOf(reading, index, goal)
  const isHere = isThere(standing)
  const isKnownBad = standing === 'Switching' && reportsFailure(reading, index, goal)
  const isFailed = rules.isBlamed(isKnownBad ? 'Failed' : standing, reading)
  const report = reading.reports[index]
  const isStuck =
    standing === 'Pending' &&
    reading.health === 'Up' &&
    !reserved.has(reading.name) &&
    report?.state === 'Fetching' &&
    report.desired === goal.version &&
    attemptBegan(reading, index) < overdueBefore
  return { standing, isHere, isFailed, isStuck }
}

function markOf(standing: Standing, isFailed: boolean, { health }: Reading): number {
  if (isFailed) return MARKS.failed
  if (standing === 'Updated' || standing === 'Drifted') return health === 'Up' ? MARKS.healthy : MARKS.updated
  return standing === 'Unhealthy' ? MARKS.updated : MARKS.behind
}

/** It has, or is ordered, the version that works on the rest of the set, so its fault is its own. */
function isOfHealthy({ orders, reports }: Reading, index: number, healthy: ComponentTarget | undefined): boolean {
  const [order, report] = [orders[index], reports[index]]
  if (healthy === undefined || order === undefined || report?.version === undefined) return false
  return isOrderFor(order, healthy)
}

/** A target that was never tried is no way back, whatever versions a machine had before. */
const wasHealthyOn = ({ reports }: Reading, { isProven, version, index }: Track): boolean =>
  isProven || (version !== undefined && wasHealthy(reports[index]?.healthyBefore ?? [], version))

/** Ordered a version newer than the goal. A component that a later revision dropped is a target too. */
function isAhead({ orders }: Reading, { index, ahead }: Track, goal: ComponentTarget): boolean {
  const now = orders[index]
  return !isOrderFor(now, goal) && ahead.some((t) => isOrderFor(now, t))
}

/** What lasts is judged as if no slice had the machine. */
function judge(
  reading: Reading,
  standing: Standing,
  { isFailed, isLasting }: Pick<Assessment, 'isFailed' | 'isLasting'>,
  track: Track,
  input: SurveyInput,
): Verdict {
  const { machine, health, name } = reading
  if ((!isLasting && input.reserved.has(name)) || health === 'Joining') return 'Never'
  const other = input.claimedByOther(machine, reading.orders[track.index]?.setRef)
  if (other !== undefined) return 'Others'
  if (standing === 'Canary') return { skipped: `managed by canary ${reading.orders[track.index]?.canaryRef ?? ''}` }
  const held = input.heldBy(reading)
  if (held !== undefined) return { skipped: held }
  if (isFailed && !mayRetry(reading, track, input)) return 'Never'
  const drifted = standing === 'Drifted' ? unmendable(reading, track, input) : undefined
  if (drifted !== undefined) return { skipped: drifted }
  // A kubelet registers a deleted Node when it starts, so the fresh copy it reports to need is the cure.
  if (standing === 'Drifted' && isNodeDeleted(reading) && !reading.isBusy)
    return hindrance(reading, track, input) ?? 'Broken'
  const isBroken = reading.brokenBy.has(track.component) && !reading.isBusy
  if (input.rules.isSound(reading) || isBroken)
    return hindrance(reading, track, input) ?? (isBroken ? 'Broken' : 'Sound')
  return reading.isBusy ? BUSY : { skipped: reading.why }
}

function unmendable({ orders, reports }: Reading, { index }: Track, { now }: SurveyInput): string | undefined {
  const order = orders[index]
  if (order === undefined || !isPastFreshCopies(order, now)) return undefined
  return shortened(`still modified after ${MOST_FRESH_COPIES} reinstalls: ${reports[index]?.drifted ?? ''}`, 200)
}

const NO_KEY = 'its agent has not published a key to encrypt secret values'

function hindrance(
  reading: Reading,
  { index }: Track,
  { refused, incompatible, unfit, needsKey }: SurveyInput,
): Verdict | undefined {
  const { uid, runs, machine } = reading
  const no = refused.get(uid) ?? unfit(machine)
  if (no !== undefined) return { skipped: no }
  const notAdopted = adoptionWait(machine, reading.reports[index])
  if (notAdopted !== undefined) return { skipped: notAdopted }
  if (needsKey === true && machine.status?.agent?.publicKey === undefined) return { skipped: NO_KEY }
  const unmet = incompatible(runs)
  return unmet === undefined ? undefined : { unmet }
}

/** Unmanaged files are where the component must write its own, and a person has not agreed to replace them. */
function adoptionWait({ metadata, spec }: Machine, report: ComponentStatus | undefined): string | undefined {
  if (spec.adoption === 'Preview') return `its adoption is only previewed; run kubenode adopt ${metadata.name ?? ''}`
  const { differs = [], blocked = [] } = report?.version === undefined ? (report?.adoption ?? {}) : {}
  const first = spec.adoption === 'Adopt' ? blocked[0] : (blocked[0] ?? differs[0])
  return first === undefined
    ? undefined
    : shortened(`files not managed by KubeNode: ${first}; run kubenode adopt ${metadata.name ?? ''}`, 200)
}

function mayRetry(reading: Reading, { index }: Track, { retryBefore, atWork }: SurveyInput): boolean {
  if (retryBefore === undefined || attemptBegan(reading, index) >= retryBefore) return false
  // A retry request does not cover an attempt that was still running.
  return !atWork.has(reading.orders[index]?.slice)
}

/** The slice's start time comes from our clock. The report's time comes from the node, whose clock may be wrong. */
const attemptBegan = ({ orders, reports }: Reading, index: number): number =>
  Date.parse(orders[index]?.slice ?? reports[index]?.since ?? '')
