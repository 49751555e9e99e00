// Moves the slices of a step together once all have switched: inspection, soak, then passed or failed.
import { parseDuration } from '#lib/duration.ts'
import { timestamp } from '#lib/clock.ts'
import { STEP_OPEN } from './advance.ts'
import type { Finding } from '../inspection/inspect.ts'
import type { Rules } from './rules.ts'
import type { Slice, SliceDecision } from '../seen.ts'
import { type Wait, waitingSince } from '../reporting/wait.ts'

export interface StepReading {
  /** No further slice of the step opens. */
  readonly isFull: boolean
  readonly finding: Finding | undefined
  /** Many machines are silent at once. Nothing counts as failed during that time. */
  readonly isOutage: boolean
  readonly soakMs: number
  readonly now: number
  readonly rules: Rules
  readonly nameOfStep: (slice: SliceDecision) => string
}

export interface StepMoved {
  readonly slices: readonly Slice[]
  readonly failure?: string
}

const SETTLED: ReadonlySet<Slice['phase']> = new Set(['Inspecting', 'Soaking', 'Passed'])

/** Takes all slices of one step of one component. */
export function moveStep(slices: readonly Slice[], reading: StepReading): StepMoved {
  const stepSettled = reading.isFull && slices.every((w) => SETTLED.has(w.phase))
  const moved = slices.map((w) => moveSettled(w, stepSettled, reading))
  const failed = moved.find((w, i) => w.phase === 'Failed' && slices[i]?.phase !== 'Failed')
  if (failed === undefined || reading.finding === undefined) return { slices: moved }
  return { slices: moved, failure: `${reading.nameOfStep(failed)}: ${describeFinding(reading.finding)}` }
}

function moveSettled(slice: Slice, stepSettled: boolean, reading: StepReading): Slice {
  if (slice.phase === 'Inspecting') return inspect(slice, stepSettled, reading)
  return slice.phase === 'Soaking' ? soak(slice, reading) : slice
}

function inspect(slice: Slice, stepSettled: boolean, reading: StepReading): Slice {
  const { finding, now, soakMs, rules } = reading
  if (finding !== undefined) return disturbed(slice, finding, reading)
  const next = rules.nextPhase(slice.phase, 'soak', { stepSettled, inspectionsHold: true })
  if (next === undefined) return { ...slice, waitingFor: waitingSince(slice.waitingFor, STEP_OPEN, now) }
  return soak({ ...slice, phase: next, soakUntil: wholeSecond(now + soakMs) }, reading)
}

/** Timestamps have whole seconds. Rounding up keeps a soak from being shorter than declared. */
const wholeSecond = (ms: number): string => timestamp(Math.ceil(ms / 1_000) * 1_000)

function soak(slice: Slice, reading: StepReading): Slice {
  const { finding, now, soakMs, rules } = reading
  if (finding !== undefined) return disturbed(slice, finding, reading)
  const until = Date.parse(slice.soakUntil ?? '')
  // If the clock was set back, the soak would otherwise get longer by that much.
  if (!(until - now <= soakMs + 1_000)) return soak({ ...slice, soakUntil: wholeSecond(now + soakMs) }, reading)
  // Without a soak, do not wait for the end of the second: it would be most of the step's time.
  const soakOver = soakMs === 0 || now >= until
  const next = rules.nextPhase(slice.phase, 'pass', { soakOver, inspectionsHold: true })
  if (next === undefined) return { ...slice, waitingFor: waitingSince(slice.waitingFor, soaking(slice), now) }
  const { waitingFor: _, ...passed } = slice
  return { ...passed, phase: next }
}

function disturbed(slice: Slice, finding: Finding, { now, isOutage, rules }: StepReading): Slice {
  const waitingFor = waitingSince(slice.waitingFor, inspecting(finding), now)
  const isOverdue = now - Date.parse(waitingFor.since) >= parseDuration(finding.inspection.timeout)
  const next = rules.nextPhase(slice.phase, 'fail', {
    inspectionFailed: isOverdue && !isOutage && finding.isUndecided !== true,
  })
  return next === undefined ? { ...slice, waitingFor } : { ...slice, phase: next, waitingFor }
}

const describeFinding = ({ inspection, seen }: Finding): string => `inspection ${inspection.name}: ${seen}`

const inspecting = (finding: Finding): Wait => ({
  predicate: 'InspectionFailed',
  seen: describeFinding(finding),
  unblock: `the inspection passes within ${finding.inspection.timeout}; the revision fails otherwise`,
})

const soaking = ({ soakUntil = '' }: Slice): Wait => ({
  predicate: 'Soaking',
  seen: `soaking until ${soakUntil}`,
  unblock: 'the inspections keep passing until then',
})
