// What something waits for, and since when it has waited for exactly that. Pure.
import { waitingSince } from '#runtime/waiting.ts'
import type { Reason } from '#api/catalogue.ts'

export interface WaitingFor {
  readonly predicate: string
  readonly seen?: string
  readonly since: string
  readonly unblock?: string
}

export function wait(
  old: WaitingFor | undefined,
  now: number,
  predicate: Reason,
  seen: string,
  unblock: string,
): Blocked {
  return waitingSince(old, { predicate, seen, unblock }, now)
}

/** Of our own making, so its predicate is one of the catalogue. */
export interface Blocked extends WaitingFor {
  readonly predicate: Reason
}
