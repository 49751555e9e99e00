// How many failures a revision may have before it counts as bad.
import { type Share, shareOf } from './share.ts'

/** Up to so many machines tried, the default allows none. */
const STRICT_UP_TO = 10
/** Beyond that, one in a hundred: machines die for reasons of their own. */
const ONE_IN = 100

/** `tried` counts the machines that this version was tried on so far; a percentage is of them. */
export function allowedFailures(maxFailures: Share | undefined, tried: number): number {
  if (maxFailures !== undefined) return shareOf(maxFailures, tried)
  return tried <= STRICT_UP_TO ? 0 : Math.floor(tried / ONE_IN)
}
