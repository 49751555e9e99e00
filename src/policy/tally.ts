// How many peers of a group meet a test: the facts behind counts and ratios. Unknown peers leave a range: the true count is between `count` and `count + unknown`.
import { isObject } from '#lib/json.ts'
import type { Verdict } from './verdict.ts'

export interface Tally {
  readonly count: number
  readonly unknown: number
  /** All peers, known or not. */
  readonly total: number
}

/** Counts peers by the verdict on each. */
export function tallyOf<T>(peers: Iterable<T>, verdict: (peer: T) => Verdict): Tally {
  let count = 0
  let unknown = 0
  let total = 0
  for (const peer of peers) {
    const v = verdict(peer)
    total += 1
    if (v === 'true') count += 1
    if (v === 'unknown') unknown += 1
  }
  return { count, unknown, total }
}

const isCount = (n: unknown): n is number => typeof n === 'number' && Number.isSafeInteger(n) && n >= 0

/** A tally with consistent numbers; a missing `unknown` means zero. */
export function seenTally(seen: unknown): Tally | undefined {
  if (!isObject(seen)) return undefined
  const own = (k: string) => (Object.hasOwn(seen, k) ? seen[k] : undefined)
  const [count, total, unknown] = [own('count'), own('total'), own('unknown') ?? 0]
  if (!isCount(count) || !isCount(total) || !isCount(unknown) || count + unknown > total) return undefined
  return { count, total, unknown }
}
