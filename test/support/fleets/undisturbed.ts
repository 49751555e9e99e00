// What a pass over a Release sees when nothing but its clusters speaks: no newer Release, no hold, no reading, no request of a user.
import type { ReleaseSeen } from '#sync/release/release-seen.ts'

type Others = Pick<ReleaseSeen, 'newer' | 'paused' | 'sight' | 'retries' | 'promotions'>

export const UNDISTURBED: Others = {
  newer: undefined,
  paused: undefined,
  sight: { approvedBy: [], checks: new Map(), surveys: new Map() },
  retries: [],
  promotions: [],
}
