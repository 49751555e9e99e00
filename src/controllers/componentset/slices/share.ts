// How many machines a number or a percentage allows. Rounds down, to the safe side.

export type Share = number | `${number}%`

export function shareOf(share: Share, total: number): number {
  if (typeof share === 'number') return share
  return Math.floor((total * Number(share.slice(0, -1))) / 100)
}

/** A zero budget would block every rollout of a small set forever, so one machine is always allowed. */
export const budgetOf = (share: Share, total: number): number => Math.max(1, shareOf(share, total))
