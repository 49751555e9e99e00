// What something waits for, with the time since when it has waited for just that. Pure.
import { timestamp } from '#lib/clock.ts'
import type { Reason } from '#api/catalogue.ts'

export interface WaitingFor {
  readonly predicate: string
  readonly seen?: string
  readonly since: string
  readonly unblock?: string
}

const MAX_TEXT = 200

export function wait(
  old: WaitingFor | undefined,
  now: number,
  predicate: Reason,
  seen: string,
  unblock: string,
): Blocked {
  const since = old?.predicate === predicate ? old.since : timestamp(now)
  return { predicate, seen: seen.slice(0, MAX_TEXT), since, unblock: unblock.slice(0, MAX_TEXT) }
}

/** Of our own making, so its predicate is one of the catalogue. */
export interface Blocked extends WaitingFor {
  readonly predicate: Reason
}
