// Builds waits. The start time of a wait stays the same as long as nothing changes.
import type { Reason } from '#api/catalogue.ts'
import { type Wait as AnyWait, MOST_SENTENCE_CHARS, fit } from '#runtime/waiting.ts'

export { fit, waitingSince } from '#runtime/waiting.ts'

export type Wait = AnyWait<Reason>

/** A long description is cut; the advice never is. */
export const withAdvice = (what: string, advice: string): string =>
  `${fit(what, MOST_SENTENCE_CHARS - advice.length - 2)}; ${advice}`

/** One commit declares a set and its machines. They get this long to appear before the selector counts as wrong. */
const MACHINES_WITHIN_MS = 120_000

/** When a set that waits for machines stops merely waiting. A set that has not started to wait has no end. */
export const emptyUntil = (waiting: { readonly predicate: string; readonly since?: string } | undefined): number =>
  waiting?.predicate === 'NoMachines' ? Date.parse(waiting.since ?? '') + MACHINES_WITHIN_MS : Infinity
