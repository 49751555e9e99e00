// Which machines a component can go to next, and why the others wait: nothing that is in trouble, silent, held or at work is touched.
import type { Machine } from '#api/kinds/machine.ts'
import type { MachineComponentSpec } from '#api/kinds/machine-component.ts'
import { isInRange } from './problems.ts'
import { type Reading, type Standing, reportsFailure, standingOf } from './reading.ts'
import { type Target, isSameTarget } from './revisions.ts'
import type { Rules } from './rules.ts'
import { type Revisions, type Track, newerTargets } from './tracks.ts'

export interface Survey {
  readonly track: Track
  /** May be disturbed: each costs one of the budget. */
  readonly sound: readonly Reading[]
  /** Down because of this very component: disturbing them costs nothing. */
  readonly broken: readonly Reading[]
  /** Told a version that came after the last healthy one, and so going back; a part of the above. */
  readonly goingBack: ReadonlySet<Reading>
  readonly skipped: ReadonlyMap<string, string>
  readonly updated: number
  readonly failed: number
  readonly tried: number
  /** One mark a member, in their order. */
  readonly marks: Uint8Array
  readonly triedByClass: ReadonlyMap<string, number>
  /** Candidates but for a component that they need first. */
  readonly unmet: number
}

export interface SurveyInput {
  readonly members: readonly Reading[]
  readonly revisions: Revisions
  readonly rules: Rules
  readonly spec: MachineComponentSpec | undefined
  readonly requiredIndexes: readonly number[]
  /** Machines of slices that wait for a permit or switch, of any component of the set. */
  readonly reserved: ReadonlySet<string>
  /** `decidedBy` is the set that the machine has the component from. */
  readonly claimedByOther: (machine: Machine, decidedBy: string | undefined) => string | undefined
  readonly heldBy: (machine: Machine) => string | undefined
  /** What failed before this moment may be tried again. */
  readonly retryBefore: number | undefined
}

/** What a machine is to one component, for the counts of the set. */
export const MARKS = { behind: 0, healthy: 1, updated: 2, failed: 3, othersDecide: 4 } as const

type Verdict = 'Sound' | 'Broken' | 'Unmet' | 'Never' | 'Others' | { readonly skipped: string }

export function surveyOf(track: Track, input: SurveyInput): Survey {
  const sound: Reading[] = []
  const broken: Reading[] = []
  const goingBack = new Set<Reading>()
  const skipped = new Map<string, string>()
  const triedByClass = new Map<string, number>()
  const marks = new Uint8Array(input.members.length)
  const counts = { updated: 0, failed: 0, unmet: 0 }
  const { index } = track
  const goal = track.target ?? track.declared
  const newer = newerTargets(track.component, input.revisions).filter((t) => !isSameTarget(t, goal))
  for (const [at, reading] of input.members.entries()) {
    const standing = standingOf(reading, index, goal)
    const isHere = standing === 'Updated' || standing === 'Unhealthy'
    const isKnownBad = standing === 'Switching' && reportsFailure(reading, index, goal)
    const isFailed = input.rules.isBlamed(isKnownBad ? 'Failed' : standing, reading)
    if (isHere) counts.updated++
    if (isFailed) counts.failed++
    if (isHere || isFailed) count(triedByClass, reading.machine.spec.class ?? '')
    marks[at] = markOf(standing, isFailed, reading)
    if (isHere) continue
    const verdict = judge(reading, standing, isFailed, track, input)
    if (verdict === 'Never') continue
    if (verdict === 'Others') marks[at] = MARKS.othersDecide
    else if (verdict === 'Unmet') counts.unmet++
    else if (verdict === 'Sound' || verdict === 'Broken') {
      ;(verdict === 'Sound' ? sound : broken).push(reading)
      if (newer.some((t) => isSameTarget(t, toldTarget(reading, index)))) goingBack.add(reading)
    } else skipped.set(reading.name, verdict.skipped)
  }
  const tried = counts.updated + counts.failed
  return { track, sound, broken, goingBack, skipped, ...counts, tried, marks, triedByClass }
}

function markOf(standing: Standing, isFailed: boolean, { health }: Reading): number {
  if (isFailed) return MARKS.failed
  if (standing === 'Updated') return health === 'Up' ? MARKS.healthy : MARKS.updated
  return standing === 'Unhealthy' ? MARKS.updated : MARKS.behind
}

const count = (map: Map<string, number>, key: string): void => void map.set(key, (map.get(key) ?? 0) + 1)

function toldTarget({ told }: Reading, index: number): Target | undefined {
  const entry = told[index]
  return entry && { component: entry.name, version: entry.version, config: entry.config }
}

function judge(reading: Reading, standing: Standing, isFailed: boolean, track: Track, input: SurveyInput): Verdict {
  const { machine, health, name } = reading
  if (input.reserved.has(name) || health === 'Joining') return 'Never'
  const other = input.claimedByOther(machine, reading.told[track.index]?.setRef)
  if (other !== undefined) return 'Others'
  if (standing === 'Canary') return { skipped: `canary ${reading.told[track.index]?.canaryRef ?? ''} decides about it` }
  const held = input.heldBy(machine)
  if (held !== undefined) return { skipped: `hold ${held}` }
  if (isFailed && !mayRetry(reading, track, input)) return 'Never'
  if (input.rules.isSound(reading)) return meetsRequirements(reading, input) ? 'Sound' : 'Unmet'
  if (reading.brokenBy === track.component && !reading.isBusy) return 'Broken'
  return { skipped: reading.isBusy ? 'another switch is under way on it' : reading.why }
}

function mayRetry({ reported }: Reading, { index }: Track, { retryBefore }: SurveyInput): boolean {
  return retryBefore !== undefined && Date.parse(reported[index]?.since ?? '') <= retryBefore
}

/** What the component needs must run on the machine already, whichever ladder brings it. */
function meetsRequirements({ reported }: Reading, { spec, requiredIndexes }: SurveyInput): boolean {
  return (spec?.requires ?? []).every(({ range }, i) => {
    const at = requiredIndexes[i] ?? -1
    if (at < 0) return true
    const running = reported[at]?.version
    return running !== undefined && isInRange(running, range)
  })
}
