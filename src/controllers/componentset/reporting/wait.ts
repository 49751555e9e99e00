// Says what something waits for, so that the time since when stays the same as long as nothing moved.
import type { Reason } from '#api/catalogue.ts'
import { type Wait as AnyWait, MOST_SENTENCE_CHARS, fit } from '#runtime/waiting.ts'

export { fit, waitingSince } from '#runtime/waiting.ts'

export type Wait = AnyWait<Reason>

/** What is done about it is never cut off by what happened. */
export const withAdvice = (what: string, advice: string): string =>
  `${fit(what, MOST_SENTENCE_CHARS - advice.length - 2)}; ${advice}`

/** One commit declares a set and the machines for it: they may take so long to appear before the selector is called wrong. */
const MACHINES_WITHIN_MS = 120_000

/** Until when a set that has waited for machines is only waiting; it never ends for one that has not begun to wait. */
export const emptyUntil = (waiting: { readonly predicate: string; readonly since?: string } | undefined): number =>
  waiting?.predicate === 'NoMachines' ? Date.parse(waiting.since ?? '') + MACHINES_WITHIN_MS : Infinity
