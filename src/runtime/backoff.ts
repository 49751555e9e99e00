// How long a key waits before it is tried again: doubling per failure, capped, spread so that failures do not come back in step.
import type { Random } from '#lib/random.ts'

export interface Backoff {
  readonly baseMs: number
  readonly capMs: number
}

/** The first retry is quick enough for a lost race; five minutes keep a broken object cheap and still heal it without a person. */
export const DEFAULT_BACKOFF: Backoff = { baseMs: 5, capMs: 300_000 }

/** Up to this share is taken off; never added, so the cap stays a cap. */
const SPREAD = 0.25

/** Past 2^40 every base is over every cap; keeps the power finite. */
const MOST_DOUBLINGS = 40

/** `failures` counts those before this one: 0 for the first. */
export function backoffDelay({ baseMs, capMs }: Backoff, failures: number, random: Random): number {
  const full = Math.min(capMs, baseMs * 2 ** Math.min(failures, MOST_DOUBLINGS))
  return full * (1 - SPREAD * random.next())
}
