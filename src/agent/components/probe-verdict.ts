// Pure: turns the answers of one probe into a verdict. A wrong answer counts after three in a row. A missing answer counts only after the component had
// time to start.
import type { ProbeReading } from './seen.ts'
import type { ProbeAnswer } from './probe.ts'

export interface ProbeHistory {
  readonly settleMs: number
  /** Both in monotonic time. */
  readonly startedAt: number
  readonly passingSince: number | undefined
  readonly failures: number
  /** How often it could not be asked. */
  readonly unasked: number
  readonly last: ProbeAnswer | undefined
}

/** A single wrong answer may be chance. */
const FAILURES_THAT_COUNT = 3
/** No answer is required before this time. */
export const START_MS = 10_000

export const newHistory = (settleMs: number, startedAt: number): ProbeHistory => ({
  settleMs,
  startedAt,
  passingSince: undefined,
  failures: 0,
  unasked: 0,
  last: undefined,
})

export function afterAnswer(history: ProbeHistory, answer: ProbeAnswer, now: number): ProbeHistory {
  if (answer.kind === 'Unknown') return { ...history, passingSince: undefined, unasked: history.unasked + 1 }
  if (answer.kind === 'Pass')
    return { ...history, passingSince: history.passingSince ?? now, failures: 0, last: answer }
  return { ...history, passingSince: undefined, failures: history.failures + 1, last: answer }
}

/** Waiting longer for a verdict of all of them would not help. */
export const isUnaskable = (histories: ReadonlyMap<string, ProbeHistory>): boolean =>
  [...histories.values()].some((h) => h.last === undefined && h.unasked >= FAILURES_THAT_COUNT)

function verdictOf(h: ProbeHistory, now: number): ProbeReading['verdict'] {
  if (h.last === undefined) return 'Unknown'
  if (h.last.kind === 'Pass') return 'Passing'
  const isStarting = h.last.kind === 'NoAnswer' && now - h.startedAt < Math.max(START_MS, h.settleMs)
  return h.failures >= FAILURES_THAT_COUNT && !isStarting ? 'Failing' : 'Unknown'
}

/** The worst result of all probes. A component without probes only has to run for the settle time. */
export function probeReading(histories: ReadonlyMap<string, ProbeHistory>, now: number): ProbeReading {
  const all = [...histories].map(([name, h]) => ({ name, h, verdict: verdictOf(h, now) }))
  const failing = all.find((p) => p.verdict === 'Failing')
  if (failing !== undefined) {
    const lastMessage = failing.h.last === undefined || failing.h.last.kind === 'Pass' ? '' : failing.h.last.message
    return { verdict: 'Failing', isSettled: false, message: `probe ${failing.name}: ${lastMessage}` }
  }
  if (all.some((p) => p.verdict === 'Unknown')) return { verdict: 'Unknown', isSettled: false }
  const isSettled = all.every(({ h }) => h.passingSince !== undefined && now - h.passingSince >= h.settleMs)
  return { verdict: 'Passing', isSettled }
}
