// When the preparation for an event starts: at the last window that still leaves the lead. Pure.
import type { MaintenanceSpec } from '#api/kinds/maintenance-event.ts'
import { LEAST_LEAD_MS, mostLeadMs } from '#nodes/faults/maintenance.ts'
import { type Window, openingOf } from '#permits/windows.ts'
import type { Seen } from './seen.ts'

/** Of the 95th percentile of the drains of the pool: one slow drain in twenty must still fit. */
const DRAINS_IN_LEAD = 3
/** Window starts that are read; a window a minute is none. */
const MOST_STARTS = 1_000

const leadOf = (spec: Pick<MaintenanceSpec, 'bill'>, drainP95Ms: number | undefined): number =>
  Math.min(mostLeadMs(spec), Math.max(LEAST_LEAD_MS, DRAINS_IN_LEAD * (drainP95Ms ?? 0)))

/** Nearest rank; undefined without any. */
export function percentile95(durations: readonly number[]): number | undefined {
  const sorted = durations.toSorted((a, b) => a - b)
  return sorted[Math.ceil(sorted.length * 0.95) - 1]
}

/** From when on something may be done about it. */
const earliestOf = (spec: Pick<MaintenanceSpec, 'bill'>, notBefore: number, now: number): number =>
  Math.max(now, notBefore - mostLeadMs(spec))

interface Schedule {
  readonly startAt: number
  /** The windows leave no time before the event. */
  readonly isOutsideWindows: boolean
}

interface Preparation extends Schedule {
  readonly lead: number
}

/** When an event at this time is prepared for: inside the windows, and no bill before its last day. */
export function preparationOf(
  { event, drainP95Ms, policy }: Pick<Seen, 'event' | 'drainP95Ms' | 'policy'>,
  notBefore: number,
  now: number,
): Preparation {
  const lead = leadOf(event.spec, drainP95Ms)
  return { lead, ...scheduleOf(notBefore, lead, policy.windows, earliestOf(event.spec, notBefore, now)) }
}

/** No start is before `now`: what should have begun begins now. */
function scheduleOf(notBefore: number, leadMs: number, windows: readonly (readonly Window[])[], now: number): Schedule {
  const latest = Math.max(now, notBefore - leadMs)
  const asked = windows.filter((w) => w.length > 0)
  if (asked.length === 0) return { startAt: latest, isOutsideWindows: false }
  const isOpen = (at: number) => asked.every((w) => openingOf(w, at).isOpen)
  const starts = asked.flatMap((w) => startsUntil(w, now, latest)).filter(isOpen)
  if (starts.length > 0) return { startAt: Math.max(...starts), isOutsideWindows: false }
  if (isOpen(now)) return { startAt: now, isOutsideWindows: false }
  return { startAt: latest, isOutsideWindows: true }
}

/** The next time after `from` at which a window of each policy is open; undefined when none is found. */
export function nextStart(windows: readonly (readonly Window[])[], from: number): number | undefined {
  const asked = windows.filter((w) => w.length > 0)
  const horizon = from + HORIZON_MS
  const starts = asked.flatMap((w) => startsUntil(w, from, horizon))
  return starts.toSorted((a, b) => a - b).find((at) => asked.every((w) => openingOf(w, at).isOpen))
}

/** Vendors postpone by days, not by months. */
const HORIZON_MS = 31 * 86_400_000

function startsUntil(windows: readonly Window[], from: number, until: number): readonly number[] {
  return windows.flatMap((window) => {
    const starts: number[] = []
    let at = from
    while (starts.length < MOST_STARTS) {
      const next = nextOf(window, at)
      if (next === undefined || next > until) break
      starts.push(next)
      at = next
    }
    return starts
  })
}

/** `openingOf` tells of the next start only while nothing is open: asked about the gap it is the start of this very window. */
function nextOf(window: Window, after: number): number | undefined {
  const opening = openingOf([{ ...window, duration: '1ms' }], after + 1)
  return opening.isOpen ? after + 1 : opening.nextAt
}
