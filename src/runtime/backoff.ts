// How long a key waits before its next try: doubling per failure, capped, with jitter so that failures do not retry in step.
import type { Random } from '#lib/random.ts'

export interface Backoff {
  readonly baseMs: number
  readonly capMs: number
}

/** The first retry is fast enough for a lost race. Five minutes keep a broken object cheap and still let it heal without a person. */
export const DEFAULT_BACKOFF: Backoff = { baseMs: 5, capMs: 300_000 }

/** Jitter takes off up to this share and never adds, so the cap holds. */
const SPREAD = 0.25

/** Past 2^40 every base exceeds every cap; this keeps the power finite. */
const MOST_DOUBLINGS = 40

/** `failures` counts earlier ones: 0 for the first. */
export function backoffDelay({ baseMs, capMs }: Backoff, failures: number, random: Random): number {
  const full = Math.min(capMs, baseMs * 2 ** Math.min(failures, MOST_DOUBLINGS))
  return full * (1 - SPREAD * random.next())
}
