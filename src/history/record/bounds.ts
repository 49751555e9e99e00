// The bounds of a history. The options of the role can change each.
import { GIB, MIB } from '#lib/bytes.ts'

export interface HistoryBounds {
  /** File size beyond which the oldest days are summed up and dropped. */
  readonly maxBytes: number
  /** Days to keep in full; older ones are summed up and dropped. */
  readonly days: number
  /** Rows of one object per hour. If it flaps beyond that, the rest of the hour is a gap for this object. */
  readonly rowsPerHour: number
  /** Rows that may wait for the disk before the watches have to wait too: a second of a storm. */
  readonly waiting: number
  /** Characters of the objects in memory. */
  readonly kept: number
}

export const DEFAULT_BOUNDS: HistoryBounds = {
  maxBytes: 4 * GIB,
  days: 400,
  rowsPerHour: 200,
  waiting: 6_000,
  kept: 256 * MIB,
}
