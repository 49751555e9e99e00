// What is one cause to a person: the commit that brought it, else the cause itself; and which cause comes first. The page groups and orders by it, and the
// first line of Home counts by it. Pure.
import type { AttentionRow } from './topics.ts'

/** The worst first, then the oldest; what has no time counts as oldest. */
export const worstFirst = (a: Order, b: Order): number => a.rank - b.rank || (a.since ?? 0) - (b.since ?? 0)

type Order = Pick<AttentionRow, 'rank' | 'since'>

export const causeKey = ({
  commit,
  cause,
}: Pick<AttentionRow, 'cause'> & { readonly commit?: { readonly commit: string } }): string =>
  commit === undefined ? cause : `commit ${commit.commit}`
