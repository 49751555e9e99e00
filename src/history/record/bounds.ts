// How much a history holds. Each can be set by the options of its role.

export interface HistoryBounds {
  /** Oldest days are summed up and dropped beyond this size of the file. */
  readonly maxBytes: number
  /** Days kept in full; older ones are summed up and dropped. */
  readonly days: number
  /** Rows of one object in an hour. Beyond it, it flaps: the rest of the hour is a gap of this object. */
  readonly rowsPerHour: number
  /** Rows that wait for the disk. Beyond it, the watches wait. */
  readonly waiting: number
}

const GIB = 1024 ** 3

export const DEFAULT_BOUNDS: HistoryBounds = { maxBytes: 4 * GIB, days: 400, rowsPerHour: 200, waiting: 20_000 }
