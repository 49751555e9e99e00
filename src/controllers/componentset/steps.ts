// Moves the slices of a step together once all have switched: inspection, soak, and then it has passed or failed.
import { parseDuration } from '#lib/duration.ts'
import { timestamp } from '#lib/clock.ts'
import { STEP_OPEN } from './advance.ts'
import type { Finding } from './inspect.ts'
import type { Rules } from './rules.ts'
import type { Wave } from './seen.ts'
import { type Wait, waitingSince } from './waiting.ts'

export interface StepReading {
  /** No further slice of the step will be opened. */
  readonly isFull: boolean
  readonly finding: Finding | undefined
  /** Silence of many is nobody's fault: nothing fails while it lasts. */
  readonly isOutage: boolean
  readonly soakMs: number
  readonly now: number
  readonly rules: Rules
  readonly nameOfStep: (wave: Wave) => string
}

export interface StepMoved {
  readonly waves: readonly Wave[]
  readonly failure?: string
}

const SETTLED: ReadonlySet<Wave['phase']> = new Set(['Inspecting', 'Soaking', 'Passed'])

/** All slices of one step of one component. */
export function moveStep(waves: readonly Wave[], reading: StepReading): StepMoved {
  const stepSettled = reading.isFull && waves.every((w) => SETTLED.has(w.phase))
  const moved = waves.map((w) => moveSettled(w, stepSettled, reading))
  const failed = moved.find((w, i) => w.phase === 'Failed' && waves[i]?.phase !== 'Failed')
  if (failed === undefined || reading.finding === undefined) return { waves: moved }
  return { waves: moved, failure: `${reading.nameOfStep(failed)}: ${describeFinding(reading.finding)}` }
}

function moveSettled(wave: Wave, stepSettled: boolean, reading: StepReading): Wave {
  if (wave.phase === 'Inspecting') return inspect(wave, stepSettled, reading)
  return wave.phase === 'Soaking' ? soak(wave, reading) : wave
}

function inspect(wave: Wave, stepSettled: boolean, reading: StepReading): Wave {
  const { finding, now, soakMs, rules } = reading
  if (finding !== undefined) return disturbed(wave, finding, reading)
  const next = rules.nextPhase(wave.phase, 'soak', { stepSettled, inspectionsHold: true })
  if (next === undefined) return { ...wave, waitingFor: waitingSince(wave.waitingFor, STEP_OPEN, now) }
  return soak({ ...wave, phase: next, soakUntil: wholeSecond(now + soakMs) }, reading)
}

/** Stamps have whole seconds; a soak is never shorter than asked for. */
const wholeSecond = (ms: number): string => timestamp(Math.ceil(ms / 1_000) * 1_000)

function soak(wave: Wave, reading: StepReading): Wave {
  const { finding, now, soakMs, rules } = reading
  if (finding !== undefined) return disturbed(wave, finding, reading)
  const until = Date.parse(wave.soakUntil ?? '')
  // A clock that went back would otherwise stretch the soak by as much.
  if (!(until - now <= soakMs + 1_000)) return soak({ ...wave, soakUntil: wholeSecond(now + soakMs) }, reading)
  // No soak was asked for: waiting for the end of the second would be most of what such a step takes.
  const soakOver = soakMs === 0 || now >= until
  const next = rules.nextPhase(wave.phase, 'pass', { soakOver, inspectionsHold: true })
  if (next === undefined) return { ...wave, waitingFor: waitingSince(wave.waitingFor, soaking(wave), now) }
  const { waitingFor: _, ...passed } = wave
  return { ...passed, phase: next }
}

function disturbed(wave: Wave, finding: Finding, { now, isOutage, rules }: StepReading): Wave {
  const waitingFor = waitingSince(wave.waitingFor, inspecting(finding), now)
  const isOverdue = now - Date.parse(waitingFor.since) >= parseDuration(finding.inspection.timeout)
  const next = rules.nextPhase(wave.phase, 'fail', {
    inspectionFailed: isOverdue && !isOutage && finding.isSilence !== true,
  })
  return next === undefined ? { ...wave, waitingFor } : { ...wave, phase: next, waitingFor }
}

export const describeFinding = ({ inspection, seen }: Finding): string => `inspection ${inspection.name}: ${seen}`

const inspecting = (finding: Finding): Wait => ({
  predicate: 'InspectionFailed',
  seen: describeFinding(finding),
  unblock: `the inspection passes within ${finding.inspection.timeout}; the revision fails otherwise`,
})

const soaking = ({ soakUntil = '' }: Wave): Wait => ({
  predicate: 'Soaking',
  seen: `soaking until ${soakUntil}`,
  unblock: 'the inspections keep passing until then',
})
