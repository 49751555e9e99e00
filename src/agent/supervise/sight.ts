// The state of one running component, and the rule that both supervisors share: a process stopped by a signal for a while counts as frozen.
import type { ProcessReading } from '../components/seen.ts'
import type { ProcessEnd } from './process-end.ts'

export interface Sight {
  reading: ProcessReading
  /** Text for users. */
  why: string | undefined
  end: ProcessEnd | undefined
  /** Both in monotonic time. */
  stoppedSince: number | undefined
  frozenAt: number | undefined
}

/** Stopped by a signal for this long counts as frozen: a debugger or a dump is done by then. */
const FROZEN_AFTER_MS = 2_000
/** Grace period in which repairs can save evidence of a frozen component before the agent restarts it. */
export const FROZEN_GRACE_MS = 60_000

/** A debugger, a user or a freezer stopped the process, not the process itself. */
const STOPPED: ProcessEnd = { how: 'was stopped by a signal', isEvidence: false }

export const newSight = (): Sight => ({
  reading: 'Running',
  why: undefined,
  end: undefined,
  stoppedSince: undefined,
  frozenAt: undefined,
})

/** Returns whether the state has changed. */
export function noteStopped(
  sight: Sight,
  isStopped: boolean,
  { now, afterMs = FROZEN_AFTER_MS }: { readonly now: number; readonly afterMs?: number | undefined },
): boolean {
  if (!isStopped) {
    sight.stoppedSince = undefined
    if (sight.reading !== 'Frozen') return false
    sight.reading = 'Running'
    sight.frozenAt = undefined
    sight.why = undefined
    sight.end = undefined
    return true
  }
  sight.stoppedSince ??= now
  if (sight.reading !== 'Running' || now - sight.stoppedSince < afterMs) return false
  sight.reading = 'Frozen'
  sight.frozenAt = now
  sight.why = 'stopped by a signal'
  sight.end = STOPPED
  return true
}
