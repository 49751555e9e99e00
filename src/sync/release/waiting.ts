// What an object waits for, and since when it has waited for exactly that. Pure.
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

/** Created by sync itself, so its predicate is from the catalog. */
export interface Blocked extends WaitingFor {
  readonly predicate: Reason
}
