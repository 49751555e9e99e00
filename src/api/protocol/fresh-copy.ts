// How often a component that differs from its installed state gets a fresh copy: if something on a node keeps changing it, it must not restart forever.

/** Per day; beyond this, a user must find out what changes it. */
export const MOST_FRESH_COPIES = 3
export const FRESH_COPY_WINDOW_MS = 24 * 3_600_000

export interface FreshCopies {
  /** This many attempts in a row only made a fresh copy. */
  readonly fresh?: number
  /** When the last attempt's slice started. */
  readonly slice?: string
}

/** The count after one more, requested by a slice that started at this time. */
export const freshCopiesAfter = ({ fresh = 0, slice = '' }: FreshCopies, begunAt: string): number =>
  Date.parse(begunAt) - Date.parse(slice) < FRESH_COPY_WINDOW_MS ? fresh + 1 : 1

/** The limit is reached, and it still differs from what was installed. */
export const isPastFreshCopies = ({ fresh = 0, slice = '' }: FreshCopies, now: number): boolean =>
  fresh >= MOST_FRESH_COPIES && now - Date.parse(slice) < FRESH_COPY_WINDOW_MS

/** When the next one may be tried; NaN if none is pending. */
export const freshCopyAgainAt = ({ slice = '' }: FreshCopies): number => Date.parse(slice) + FRESH_COPY_WINDOW_MS
