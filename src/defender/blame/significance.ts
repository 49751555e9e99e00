// How likely it is that chance alone puts this many failures into one group: the upper tail of the hypergeometric distribution (Fisher's exact test,
// one-sided).

/** ln n!, exact sums for small n, Stirling's series with two terms beyond: its error is below 1e-10 there. */
const SMALL = 256
const LN_FACTORIALS: readonly number[] = Array.from({ length: SMALL }).reduce<number[]>((sums, _, n) => {
  sums.push(n === 0 ? 0 : (sums[n - 1] ?? 0) + Math.log(n))
  return sums
}, [])

function lnFactorial(n: number): number {
  const known = LN_FACTORIALS[n]
  if (known !== undefined) return known
  return n * Math.log(n) - n + 0.5 * Math.log(2 * Math.PI * n) + 1 / (12 * n) - 1 / (360 * n ** 3)
}

const lnChoose = (n: number, k: number): number => lnFactorial(n) - lnFactorial(k) - lnFactorial(n - k)

export interface Counts {
  /** All units, and how many of them fail. */
  readonly total: number
  readonly failing: number
  /** Machines in the group. */
  readonly members: number
  readonly failingMembers: number
}

/** The probability that at least this many failing units are members, if drawn at random. */
export function chanceOf({ total, failing, members, failingMembers }: Counts): number {
  const most = Math.min(failing, members)
  const all = lnChoose(total, failing)
  let chance = 0
  for (let k = failingMembers; k <= most; k++) {
    if (failing - k > total - members) continue
    chance += Math.exp(lnChoose(members, k) + lnChoose(total - members, failing - k) - all)
  }
  return Math.min(1, chance)
}
