// The rules of a rollout that need arithmetic or judgment, each by name. The plan calls them and adds none of its own.
import { type SliceEvent, type SliceFacts, type SlicePhase, nextSlicePhase } from '#api/protocol/slice.ts'
import { type TrackRecord, allowedFailures } from './failures.ts'
import type { Reading, Standing } from '../members/reading.ts'
import { type Share, budgetOf } from './share.ts'

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
