// Says what something waits for, so that the time since when stays the same as long as nothing moved.
import type { Reason } from '#api/catalogue.ts'
import { timestamp } from '#lib/clock.ts'
import type { WaitingFor } from './seen.ts'

export interface Wait {
  readonly predicate: Reason
  readonly seen: string
  readonly unblock: string
  /** The value seen is a measure of progress: when it changes, the waiting begins anew. */
  readonly isProgress?: boolean
  /** Waiting for one of these was waiting for the same: what nobody mends must not begin anew with each of its names. */
  readonly sameAs?: ReadonlySet<string>
}

/** Sentences of the kind are at most this long. */
const MOST_CHARS = 200
export const fit = (text: string, most = MOST_CHARS): string =>
  text.length <= most ? text : `${text.slice(0, most - 1)}…`

/** What is done about it is never cut off by what happened. */
export const withAdvice = (what: string, advice: string): string =>
  `${fit(what, MOST_CHARS - advice.length - 2)}; ${advice}`

export function waitingSince(before: WaitingFor | undefined, wait: Wait, now: number): WaitingFor {
  const seen = fit(wait.seen)
  const isKnown = before !== undefined && (before.predicate === wait.predicate || wait.sameAs?.has(before.predicate))
  const isSame = isKnown === true && (wait.isProgress !== true || before.seen === seen)
  // A clock that went back must not leave a beginning in the future: nothing would ever be overdue.
  const since = isSame && Date.parse(before.since) <= now ? before.since : timestamp(now)
  return { predicate: wait.predicate, seen, since, unblock: fit(wait.unblock) }
}

/** One commit declares a set and the machines for it: they may take so long to appear before the selector is called wrong. */
const MACHINES_WITHIN_MS = 120_000

/** Until when a set that has waited for machines is only waiting; it never ends for one that has not begun to wait. */
export const emptyUntil = (waiting: { readonly predicate: string; readonly since?: string } | undefined): number =>
  waiting?.predicate === 'NoMachines' ? Date.parse(waiting.since ?? '') + MACHINES_WITHIN_MS : Infinity
