// How many a whole number or a percentage allows. Rounds to the safe side: fewer machines at once.

export type Share = number | `${number}%`

export function shareOf(share: Share, total: number): number {
  if (typeof share === 'number') return share
  return Math.floor((total * Number(share.slice(0, -1))) / 100)
}

/** A budget of zero would stop every rollout of a small set for ever, so one machine is always allowed. */
export const budgetOf = (share: Share, total: number): number => Math.max(1, shareOf(share, total))
