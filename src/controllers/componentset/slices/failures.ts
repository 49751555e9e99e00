// How many failures a revision may have before it counts as bad.
import { type Share, shareOf } from './share.ts'

/** Up to so many machines tried, the default allows none. */
const STRICT_UP_TO = 10
/** Beyond that, one in a hundred: machines die for reasons of their own. */
const ONE_IN = 100

/** A version that was healthy on the whole set before is not stopped by one machine: the machine is more likely to be at fault. */
const ALLOWED_OF_KNOWN_GOOD = 1

export interface TrackRecord {
  /** Machines that this version was tried on so far; a percentage is of them. */
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
