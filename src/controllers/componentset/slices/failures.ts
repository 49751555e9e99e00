// How many failures make a revision count as bad.
import { type Share, shareOf } from './share.ts'

/** Up to this many tried machines, the default allows no failure. */
const STRICT_UP_TO = 10
/** Beyond that, one in a hundred: machines also die for unrelated reasons. */
const ONE_IN = 100

/** One failed machine does not stop a version that was healthy on the whole set: the machine is more likely at fault. */
const ALLOWED_OF_KNOWN_GOOD = 1

export interface TrackRecord {
  /** Machines that have tried this version so far. Percentages are based on it. */
  readonly tried: number
  /** It completed its ladder on this set before, with the same content and configuration. */
  readonly isKnownGood: boolean
}

export function allowedFailures(maxFailures: Share | undefined, { tried, isKnownGood }: TrackRecord): number {
  return Math.max(isKnownGood ? ALLOWED_OF_KNOWN_GOOD : 0, declaredFailures(maxFailures, tried))
}

function declaredFailures(maxFailures: Share | undefined, tried: number): number {
  if (maxFailures !== undefined) return shareOf(maxFailures, tried)
  return tried <= STRICT_UP_TO ? 0 : Math.floor(tried / ONE_IN)
}
