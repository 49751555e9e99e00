// The time of the server: ages of a fleet are counted by its clock. The clock of a phone or laptop may be minutes or days off.

/** An answer tells whole seconds and takes a moment to arrive: a difference below this is none. */
const ALIKE_MS = 5_000

/** How far the clock of the server is ahead of this one. Pure. */
export function aheadMs(date: string | null, now: number): number | undefined {
  const at = Date.parse(date ?? '')
  if (Number.isNaN(at)) return undefined
  return Math.abs(at - now) < ALIKE_MS ? 0 : at - now
}

let ahead = 0

/** Each answer of the server tells it again: the clock here may be set right, or wrong, while the page is open. */
export const learnTime = ({ headers }: Response): void => {
  ahead = aheadMs(headers.get('date'), Date.now()) ?? ahead
}

export const serverNow = (): number => Date.now() + ahead
