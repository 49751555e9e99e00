// Decides when to start preparing for an event: in the last window that still leaves the lead time. Pure.
import { quantile } from '#lib/quantile.ts'
import type { MaintenanceSpec } from '#api/kinds/maintenance-event.ts'
import { LEAST_LEAD_MS, mostLeadMs } from '#nodes/faults/maintenance.ts'
import { type Window, openingOf } from '#permits/windows.ts'
import type { PodWaits } from '#nodes/pod-waits.ts'
import { timeOf } from './notices/time-of.ts'
import type { Seen } from './seen.ts'

/** Multiplies the pool's 95th percentile of drain times: one slow drain in twenty must still fit. */
const DRAINS_IN_LEAD = 3
/** Limit on window starts read. A window that opens every minute is no restriction. */
const MOST_STARTS = 1_000

/** Pods that ask for time get it beside the time of the drain. */
const leadOf = (spec: Pick<MaintenanceSpec, 'bill'>, drainP95Ms: number | undefined, podWaitMs: number): number =>
  Math.min(mostLeadMs(spec), Math.max(LEAST_LEAD_MS, DRAINS_IN_LEAD * (drainP95Ms ?? 0)) + podWaitMs)

/** At most half of the time until the event, so that the drain has the other half. */
export function waitsOf({ event, policy }: Pick<Seen, 'event' | 'policy'>, now: number): PodWaits | undefined {
  if (policy.podWaitMs === 0) return undefined
  const since = timeOf(event.status?.drainStartedAt) ?? now
  const notBefore = timeOf(event.spec.notBefore)
  const halfMs = notBefore === undefined ? Infinity : (notBefore - since) / 2
  return { since, now, mostMs: Math.min(policy.podWaitMs, halfMs) }
}

/** Undefined without values. */
export const percentile95 = (durations: readonly number[]): number | undefined => quantile(durations, 0.95)

/** The earliest time to act. */
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

/** When to prepare for an event at this time: inside the windows, and for a bill not before its last day. */
export function preparationOf(
  { event, drainP95Ms, policy }: Pick<Seen, 'event' | 'drainP95Ms' | 'policy'>,
  notBefore: number,
  now: number,
): Preparation {
  const lead = leadOf(event.spec, drainP95Ms, policy.podWaitMs)
  return { lead, ...scheduleOf(notBefore, lead, policy.windows, earliestOf(event.spec, notBefore, now)) }
}

/** Never earlier than `now`: an overdue start is immediate. */
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

/** The next time after `from` when a window of every policy is open. Undefined if there is none. */
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

/** `openingOf` gives the next start only while nothing is open, so the window is shortened to its start. */
function nextOf(window: Window, after: number): number | undefined {
  const opening = openingOf([{ ...window, duration: '1ms' }], after + 1)
  return opening.isOpen ? after + 1 : opening.nextAt
}
