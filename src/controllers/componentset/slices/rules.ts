// The rules of a rollout that need arithmetic or judgment, each by name. The plan calls them and adds none of its own.
import { type SliceEvent, type SliceFacts, type SlicePhase, nextSlicePhase } from '#api/protocol/slice.ts'
import type { Reading, Standing } from '../members/reading.ts'
import { type Share, budgetOf, shareOf } from './share.ts'

/** With up to this many tried machines, the default allows no failure. */
const STRICT_UP_TO = 10
/** Beyond that, one in a hundred: machines also die for unrelated reasons. */
const ONE_IN = 100

/** One failed machine does not stop a version that was healthy on the whole set before: the machine is more likely at fault. */
const ALLOWED_OF_KNOWN_GOOD = 1

interface TrackRecord {
  /** Machines that have tried this version so far. Percentages are based on it. */
  readonly tried: number
  /** It completed its ladder on this set before, with the same content and configuration. */
  readonly isKnownGood: boolean
}

function allowedFailures(maxFailures: Share | undefined, { tried, isKnownGood }: TrackRecord): number {
  return Math.max(isKnownGood ? ALLOWED_OF_KNOWN_GOOD : 0, declaredFailures(maxFailures, tried))
}

function declaredFailures(maxFailures: Share | undefined, tried: number): number {
  if (maxFailures !== undefined) return shareOf(maxFailures, tried)
  return tried <= STRICT_UP_TO ? 0 : Math.floor(tried / ONE_IN)
}

export interface Rules {
  /** Machines of the set that may be unavailable at once. */
  readonly budgetOf: (share: Share, counting: number) => number
  readonly allowedFailures: (maxFailures: Share | undefined, record: TrackRecord) => number
  /** Whether this machine's own state allows a disruption. */
  readonly isSound: (reading: Reading) => boolean
  readonly isBlamed: (standing: Standing, reading: Reading) => boolean
  readonly nextPhase: (phase: SlicePhase, event: SliceEvent, facts: SliceFacts) => SlicePhase | undefined
}

export const rolloutRules: Rules = {
  budgetOf,
  allowedFailures,
  isSound: ({ health, isBusy }) => health === 'Up' && !isBusy,
  isBlamed: (standing) => standing === 'Failed',
  nextPhase: (phase, event, facts) => {
    const step = nextSlicePhase(phase, event, facts)
    return step.ok ? step.state : undefined
  },
}
