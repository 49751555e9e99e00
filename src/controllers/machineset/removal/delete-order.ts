// The order in which surplus machines of a set are removed. Pure, total, and the same for the same machines: the next reconcile never picks others.
import type { Machine } from '#api/kinds/machine.ts'
import { nameOf, uidOf } from '#api/schema/object-meta.ts'
import { hostOf, hostsIn } from '#nodes/placement/set-hosts.ts'
import { type Seen, isInService, isReady, openPermit } from '../seen.ts'
import { sha256Hex } from '#lib/sha256.ts'

/** Compared from first to last. The smaller goes first. */
type Rank = readonly (number | string)[]

export function deleteOrder(seen: Seen, machines: readonly Machine[]): readonly Machine[] {
  const ranked = machines.map((machine) => ({ machine, rank: rankOf(seen, machine) }))
  return ranked.sort((a, b) => compare(a.rank, b.rank)).map(({ machine }) => machine)
}

/** Machines whose host the set no longer lists go first, then those that never took work, then those with a requested permit, whatever the order. */
function rankOf(seen: Seen, m: Machine): Rank {
  const asked = openPermit(seen, m) === undefined ? 1 : 0
  const created = Date.parse(m.metadata.creationTimestamp ?? '') || 0
  const isUnlisted = hostsIn(seen.set) !== undefined && hostOf(seen.set, m) === undefined
  const first: Rank = [isUnlisted ? 0 : 1, isInService(m) ? 1 : 0, asked]
  const last: Rank = [nameOf(m)]
  switch (seen.set.spec.deleteOrder) {
    case 'Unhealthy':
      return [...first, isReady(m) ? 1 : 0, -created, ...last]
    case 'Newest':
      return [...first, -created, ...last]
    case 'Oldest':
      return [...first, created, ...last]
    case 'Random':
      return [...first, sha256Hex(uidOf(m)), ...last]
    default:
      return seen.set.spec.deleteOrder satisfies never
  }
}

function compare(a: Rank, b: Rank): number {
  for (const [i, x] of a.entries()) {
    const y = b[i]
    if (y === undefined || x === y) continue
    return x < y ? -1 : 1
  }
  return 0
}
