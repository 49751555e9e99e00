// The server's time, by which a fleet's ages are counted: a phone's or laptop's clock may be minutes or days off.

/** A response has whole seconds and takes a moment to arrive: smaller differences do not count. */
const ALIKE_MS = 5_000

/** How far the server's clock is ahead of this one. Pure. */
export function aheadMs(date: string | null, now: number): number | undefined {
  const at = Date.parse(date ?? '')
  if (Number.isNaN(at)) return undefined
  return Math.abs(at - now) < ALIKE_MS ? 0 : at - now
}

let ahead = 0

/** Updated with each response: the local clock may be corrected, or changed, while the page is open. */
export const learnTime = ({ headers }: Response): void => {
  ahead = aheadMs(headers.get('date'), Date.now()) ?? ahead
}

export const serverNow = (): number => Date.now() + ahead
